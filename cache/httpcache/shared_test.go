package httpcache_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// origin is a handler with a script. Its n-th answer has the n-th header; later answers have the
// last one. The body is "body N", or that of ":body". The header ":status" sets the status. ":wait" is
// how long the answer takes. With ":flush" its header goes at once, and its body after that time.
type origin struct {
	script [][]string
	serve  http.HandlerFunc // after the header is set; nil: write the body

	mu   sync.Mutex
	seen []http.Header
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.seen = append(o.seen, r.Header.Clone())
	n := len(o.seen)
	o.mu.Unlock()
	lines, deeds := o.script[min(n, len(o.script))-1], map[string]string{}
	for i := 0; i+1 < len(lines); i += 2 {
		name, value := lines[i], lines[i+1]
		d, err := time.ParseDuration(value)
		switch {
		case name == ":panic":
			panic(http.ErrAbortHandler)
		case name == ":wait":
			<-time.After(d)
		case name == ":depend":
			cache.Depend(r.Context(), value)
		case name[0] == ':':
			deeds[name] = value
		case err == nil && (name == "Date" || name == "Expires" || name == "Last-Modified"):
			w.Header().Add(name, time.Now().Add(d).UTC().Format(http.TimeFormat))
		default:
			w.Header().Add(name, value)
		}
	}
	if o.serve != nil {
		o.serve(w, r)
		return
	}
	status, _ := strconv.Atoi(cmp.Or(deeds[":status"], "200"))
	w.WriteHeader(status)
	if late, flushed := deeds[":flush"]; flushed {
		_ = http.NewResponseController(w).Flush()
		d, _ := time.ParseDuration(late)
		<-time.After(d)
	}
	if status != http.StatusNotModified && status != http.StatusNoContent {
		fmt.Fprint(w, cmp.Or(deeds[":body"], fmt.Sprint("body ", n)))
	}
}

func (o *origin) asked() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen)
}

// visit is a request of a script with its expected result.
type visit struct {
	after  string                       // how long the client waits before it
	act    func(t testing.TB, x cached) // what else is done before it
	method string                       // "": GET
	target string                       // "": "/"
	header []string                     // of the request
	status int                          // 0: 200; broken: there is no response
	body   string                       // of the response, decoded; "": any
	how    string                       // prefix of Cache-Status after the cache's name; "": any
	asked  int                          // how many requests the origin has had by then; or anyNumber
	with   []string                     // headers of the response; the value "-" means absent
	sees   []string                     // headers of the origin's last request, alike
}

const (
	broken    = -1
	anyNumber = -1
)

type script struct {
	name   string
	on     []side           // nil: a handler and a shared client
	cfg    httpcache.Config // of a handler; a client has some of it
	origin [][]string
	serve  http.HandlerFunc // of the origin
	visits []visit
}

// expired makes all pages stale.
func expired(t testing.TB, x cached) { x.expire(t) }

// invalid ends the pages that depend on a tag.
func invalid(tag string) func(testing.TB, cached) {
	return func(t testing.TB, x cached) { x.invalidate(t, tag) }
}

// play runs scripts, on the sides of each.
func play(t *testing.T, scripts []script) {
	for i := range scripts {
		scripts[i].run(t)
	}
}

func (s *script) run(t *testing.T) {
	if s.on == nil {
		s.on = []side{handlerSide, sharedSide}
	}
	for _, on := range s.on {
		t.Run(on.name+": "+s.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := &origin{script: s.origin, serve: s.serve}
				x := on.open(t, o, s.cfg)
				send := sender(t, x)
				for i, v := range s.visits {
					if v.after != "" {
						sleep(t, v.after)
					}
					if v.act != nil {
						v.act(t, x)
					}
					a := send(cmp.Or(v.method, http.MethodGet), cmp.Or(v.target, "/"), v.header...)
					synctest.Wait()
					v.check(t, i, a, o)
				}
			})
		})
	}
}

func (v *visit) check(t *testing.T, i int, a answer, o *origin) {
	t.Helper()
	switch v.status {
	case 0:
		v.status = http.StatusOK
	case broken:
		v.status, v.body = 0, errDown.Error()
	}
	if v.body != "" && a.status == http.StatusOK {
		a.body = unpacked(t, a)
	}
	if a.status != v.status || v.body != "" && a.body != v.body || !strings.HasPrefix(a.how(), v.how) || o.asked() != v.asked && v.asked != anyNumber {
		t.Errorf("visit %d: %v, asked %d times; want status %d, %q, %q, asked %d times", i, a, o.asked(), v.status, v.body, v.how, v.asked)
	}
	expect(t, i, a.header, v.with)
	if len(v.sees) > 0 {
		expect(t, i, o.seen[len(o.seen)-1], v.sees)
	}
}

func expect(t *testing.T, i int, h http.Header, pairs []string) {
	t.Helper()
	for j := 0; j+1 < len(pairs); j += 2 {
		if got, want := strings.Join(h[pairs[j]], ", "), strings.TrimPrefix(pairs[j+1], "-"); got != want {
			t.Errorf("visit %d: %s is %q, want %q", i, pairs[j], got, want)
		}
	}
}
