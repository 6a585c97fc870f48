package httpcache_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A story is what a random origin answers, and what random clients ask.
type story struct {
	answers []reaction
	asks    []question
}

// reaction is an answer of an origin, with dates relative to its moment.
type reaction struct {
	status  int
	header  []string
	confirm bool // with 304 if the request has the validator; otherwise the origin does not look
	flush   bool
}

type question struct {
	wait   time.Duration
	method string
	header []string
}

func drawReaction(t *rapid.T) reaction {
	var cc []string
	maybe := func(name string, of int) bool { return rapid.IntRange(0, of).Draw(t, name) == of }
	seconds := rapid.SampledFrom([]string{"0", "1", "5", "10", "20", "x", `"7"`})
	for _, d := range []struct {
		name string
		arg  bool
		of   int
	}{
		{"max-age", true, 1}, {"s-maxage", true, 5}, {"stale-while-revalidate", true, 3}, {"stale-if-error", true, 3},
		{"no-cache", false, 9}, {"no-store", false, 12}, {"private", false, 12}, {"public", false, 5}, {"must-revalidate", false, 9},
		{"proxy-revalidate", false, 15}, {"must-understand", false, 15}, {"immutable", false, 15}, {"=bad", false, 25}, {"ext", true, 15},
	} {
		switch {
		case !maybe(d.name, d.of):
		case d.arg:
			cc = append(cc, d.name+"="+seconds.Draw(t, "seconds"))
		default:
			cc = append(cc, d.name)
		}
	}
	r := reaction{
		status:  rapid.SampledFrom([]int{200, 200, 200, 200, 200, 404, 301, 302, 500, 503, 410, 204, 403, 429, 501, 599}).Draw(t, "status"),
		confirm: maybe("confirms", 1), flush: maybe("flush", 4),
	}
	if len(cc) > 0 {
		r.header = append(r.header, "Cache-Control", strings.Join(cc, ", "))
	}
	for _, h := range []struct {
		name   string
		of     int
		values []string
	}{
		{"Etag", 1, []string{`"a"`, `"a"`, `"b"`, `W/"a"`}}, {"Last-Modified", 2, []string{"-100s", "-1000s"}}, {"Expires", 4, []string{"10s", "-1s", "0"}},
		{"Date", 4, []string{"0s", "-5s", "3s"}}, {"Age", 7, []string{"3", "15", "x"}}, {"Pragma", 12, []string{"no-cache"}},
		{"Vary", 3, []string{"X-L", "X-L", "x-l, Accept-Language", "*"}}, {"Set-Cookie", 14, []string{"a=b"}}, {"X-Other", 4, []string{"1", "2"}},
		{"Content-Encoding", 9, []string{"gzip"}}, {"Content-Type", 1, []string{"text/html", "text/plain"}},
	} {
		if maybe(h.name, h.of) {
			r.header = append(r.header, h.name, rapid.SampledFrom(h.values).Draw(t, "value"))
		}
	}
	return r
}

func drawQuestion(t *rapid.T) question {
	q := question{
		wait:   time.Duration(rapid.SampledFrom([]int{0, 0, 1, 2, 4, 6, 11, 25}).Draw(t, "wait")) * time.Second,
		method: rapid.SampledFrom([]string{"GET", "GET", "GET", "GET", "GET", "GET", "HEAD", "POST"}).Draw(t, "method"),
	}
	for _, h := range []struct {
		name   string
		of     int
		values []string
	}{
		{"X-L", 2, []string{"a", "b", " a"}}, {"Accept-Language", 4, []string{"de", "en, DE"}}, {"Accept-Encoding", 3, []string{"gzip"}},
	} {
		if rapid.IntRange(0, h.of).Draw(t, h.name) == h.of {
			q.header = append(q.header, h.name, rapid.SampledFrom(h.values).Draw(t, "value"))
		}
	}
	return q
}

// ServeHTTP answers by the script. The last answer repeats.
func (s *told) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := s.answers[min(s.n, len(s.answers)-1)]
	s.n++
	n := s.n
	s.log("  origin: %s %s", r.Method, lines(r.Header, "If-None-Match", "If-Modified-Since", "X-L", "Accept-Language", "Accept-Encoding"))
	h := w.Header()
	for i := 0; i+1 < len(a.header); i += 2 {
		value := a.header[i+1]
		if d, err := time.ParseDuration(value); err == nil && (a.header[i] == "Date" || a.header[i] == "Expires" || a.header[i] == "Last-Modified") {
			if a.header[i] == "Last-Modified" {
				value = longAgo.Add(d).Format(http.TimeFormat)
			} else {
				value = time.Now().Add(d).UTC().Format(http.TimeFormat)
			}
		}
		h.Add(a.header[i], value)
	}
	status := a.status
	if tag := h.Get("Etag"); a.confirm && (tag != "" && r.Header.Get("If-None-Match") == tag || tag == "" && r.Header.Get("If-Modified-Since") != "") {
		status = http.StatusNotModified
	}
	w.WriteHeader(status)
	if status != http.StatusNotModified && status != http.StatusNoContent && r.Method != http.MethodHead {
		fmt.Fprint(w, "body ", n)
	}
	if a.flush {
		_ = http.NewResponseController(w).Flush()
	}
}

// told is the origin of a story, and what happened.
type told struct {
	story
	n     int
	trace []string
}

func (s *told) log(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

// lines spells some headers.
func lines(h http.Header, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		if v, ok := h[name]; ok {
			fmt.Fprintf(&b, "%s=%q ", name, v)
		}
	}
	return b.String()
}

// on plays a story on one side, and returns what happened.
func (s story) on(t *testing.T, on side) []string {
	o := &told{story: s}
	synctest.Test(t, func(t *testing.T) {
		x := on.open(t, o, httpcache.Config{})
		do := sender(t, x)
		for _, q := range s.asks {
			<-time.After(q.wait)
			if f, ok := x.(fronted); ok {
				f.ForgetRefusals() // a Transport remembers none
			}
			a := do(q.method, "/", q.header...)
			synctest.Wait()
			for _, name := range []string{"Content-Length", "Date", "Content-Type"} { // a server's handler adds them
				delete(a.header, name)
			}
			how := "asked"
			if a.hit() {
				how = a.how()
			} else {
				delete(a.header, "Age") // the two say it of different new responses
			}
			delete(a.header, "Cache-Status")
			o.log("%v %s %q: %d %q %s %s", time.Now().Unix()%10000, q.method, q.header, a.status, a.body, how, lines(a.header, slices.Sorted(maps.Keys(a.header))...))
		}
	})
	return o.trace
}

// A Cache in front of a handler and a Transport in front of a server answer the same, and ask the same, for
// any responses and any requests that mean the same to both.
func TestSidesAgree(t *testing.T) {
	hits, asks := 0, 0
	agree := func(rt *rapid.T) {
		s := story{
			answers: rapid.SliceOfN(rapid.Custom(drawReaction), 1, 5).Draw(rt, "answers"),
			asks:    rapid.SliceOfN(rapid.Custom(drawQuestion), 2, 8).Draw(rt, "asks"),
		}
		handler, client := s.on(t, handlerSide), s.on(t, sharedSide)
		if diff := cmp.Diff(handler, client); diff != "" {
			rt.Fatalf("the handler's clients (-) and the callers (+):\n%s", diff)
		}
		asks += len(s.asks)
		for _, line := range handler {
			if strings.Contains(line, "hit;") {
				hits++
			}
		}
	}
	// An eighth are hits on average. A hundred stories have too few once in some hundred runs, a thousand never.
	for rapid.Check(t, agree); hits < asks/20 && asks < 5000; {
		rapid.Check(t, agree)
	}
	if hits < asks/20 {
		t.Errorf("%d of %d answers were from the cache: too few to say anything", hits, asks)
	}
}

// unchanging is a page that does not change, with validators.
type unchanging struct{ control, body string }

const unchangingTag = `"v1"`

var unchangedSince = longAgo.AddDate(-50, 0, 0) // before the time of bubbles

func (p unchanging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Etag", unchangingTag)
	if p.control != "" {
		w.Header().Set("Cache-Control", p.control)
	}
	http.ServeContent(w, r, "", unchangedSince, strings.NewReader(p.body))
}

// compare asks all sides and the bare handler. It returns the statuses, and the first difference.
func (p unchanging) compare(t *testing.T, asks []question) (statuses []int, diff string) {
	for _, s := range []side{handlerSide, sharedSide, pagesSide} {
		statuses = nil
		synctest.Test(t, func(t *testing.T) {
			do, bare := sender(t, s.open(t, p, httpcache.Config{})), sender(t, handled{p})
			for i, q := range asks {
				<-time.After(q.wait)
				a := do(http.MethodGet, "/", q.header...)
				synctest.Wait()
				want := bare(http.MethodGet, "/", q.header...)
				a.header.Del("Content-Length") // of a 416 a server adds it
				want.header.Del("Content-Length")
				statuses = append(statuses, a.status)
				if d := cmp.Diff(essenceOf(want), essenceOf(a)); d != "" && diff == "" {
					diff = fmt.Sprintf("%s, ask %d %q, %s:\n%s", s.name, i, q.header, a.how(), d)
				}
			}
		})
	}
	return statuses, diff
}

// A page that does not change, with validators, is answered as by http.ServeContent for any range and
// condition, and at any time: stored or not, fresh or stale.
func TestUnchangingPage(t *testing.T) {
	modified := unchangedSince.Format(http.TimeFormat)
	tags := rapid.SampledFrom([]string{unchangingTag, `"v2"`, `W/"v1"`, `"v2", "v1"`, "*", "v1"})
	times := rapid.SampledFrom([]string{modified, unchangedSince.Add(time.Second).Format(http.TimeFormat), unchangedSince.Add(-time.Second).Format(http.TimeFormat), "x"})
	statuses, diff := unchanging{"max-age=10", words(300)}.compare(t, []question{
		{header: []string{"Range", "bytes=0-4", "If-Range", `"v2"`}}, {header: []string{"Range", "bytes=0-4,7-"}}, {header: []string{"Range", "bytes=0-4", "If-None-Match", unchangingTag}},
		{header: []string{"Range", "bytes=0-4", "If-Match", `"v2"`}}, {header: []string{"Range", "bytes=400-"}},
	})
	if diff != "" || !slices.Equal(statuses, []int{200, 206, 304, 412, 416}) {
		t.Errorf("%d, %s", statuses, diff)
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := unchanging{
			rapid.SampledFrom([]string{"", "max-age=10", "max-age=10, stale-while-revalidate=20", "no-cache", "private", "max-age=0, must-revalidate"}).Draw(rt, "cc"),
			words(rapid.SampledFrom([]int{0, 10, 20, 300}).Draw(rt, "size")),
		}
		var asks []question
		for range rapid.IntRange(1, 6).Draw(rt, "asks") {
			q := question{wait: time.Duration(rapid.SampledFrom([]int{0, 1, 11, 25}).Draw(rt, "wait")) * time.Second}
			for _, c := range []struct {
				name   string
				values *rapid.Generator[string]
			}{
				{"If-Match", tags}, {"If-Unmodified-Since", times}, {"If-None-Match", tags}, {"If-Modified-Since", times},
				{"If-Range", rapid.SampledFrom([]string{unchangingTag, `"v2"`, `W/"v1"`, modified, "x"})}, {"Range", rapid.Custom(drawRange)},
			} {
				if rapid.IntRange(0, 3).Draw(rt, c.name) == 3 {
					q.header = append(q.header, c.name, c.values.Draw(rt, "value"))
				}
			}
			asks = append(asks, q)
		}
		if _, diff := p.compare(t, asks); diff != "" {
			rt.Fatalf("%q, %d bytes: %s", p.control, len(p.body), diff)
		}
	})
}
