package httpcache_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// spoiling is an outer handler that changes the header that the cache has written: as soon as it is sent,
// and after the response.
type spoiling struct{ http.Handler }

func (s spoiling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Handler.ServeHTTP(&spoiler{w}, r)
	spoil(w.Header())
}

type spoiler struct{ http.ResponseWriter }

func (w *spoiler) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status)
	if status >= http.StatusOK {
		spoil(w.Header())
	}
}

func (w *spoiler) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// spoiled is a caller that changes its responses before it reads them.
type spoiled struct{ http.RoundTripper }

func (s spoiled) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		read := *resp // for the test
		read.Header = resp.Header.Clone()
		spoil(resp.Header)
		resp.StatusCode, resp.Status, resp.ContentLength, resp.Body, resp.Trailer = http.StatusTeapot, "418 changed", 1, nil, http.Header{"X": {"changed"}}
		resp = &read
	}
	return resp, err
}

// spoil changes all values where they are, and adds a header.
func spoil(h http.Header) {
	for _, values := range h {
		for i := range values {
			values[i] = "changed"
		}
	}
	h.Set("X-Changed", "changed")
	h.Set("Cache-Control", "max-age=0")
}

// A response belongs to the client that has it, and a header to the outer handlers, as soon as it is sent.
// What they change in it changes nothing for others, and not what the cache does with the page that it
// replaces.
func TestClientsChangeTheirResponses(t *testing.T) {
	const cc = "max-age=10, stale-if-error=3600"
	page, gone := []string{"Cache-Control", cc, "X-A", "1", "Vary", "X-L", "Etag", `"a"`}, []string{":status", "404", "Cache-Control", "no-store"}
	renewed, down := append([]string{":status", "304"}, page...), []string{":status", "503"}
	for name, c := range map[string]struct {
		script [][]string
		want   []string // the bodies, by two after 11 seconds: of one who changes the response, and of another
	}{
		"stored":  {[][]string{page}, []string{"body 1", "body 1", "body 2", "body 2"}},
		"renewed": {[][]string{page, renewed}, []string{"body 1", "body 1", "body 1", "body 1"}},
		"refused": {[][]string{page, gone, down}, []string{"body 1", "body 1", "body 2", "body 3"}},
		"failed":  {[][]string{page, down}, []string{"body 1", "body 1", "body 1", "body 1"}},
	} {
		for _, flushed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", flushed), func(t *testing.T) {
				next := func() http.Handler {
					o := &origin{script: c.script}
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						o.ServeHTTP(w, r)
						if flushed {
							_ = http.NewResponseController(w).Flush()
							<-time.After(time.Second) // the body ends after its client has the header
						}
					})
				}
				watched(t, nil, httpcache.Config{}, next, func(t *testing.T, do send, x cached) {
					for i, want := range c.want {
						if i == 2 {
							sleep(t, "11s")
						}
						do := [...]send{sender(t, careless(x)), do}[i%2]
						a := do(http.MethodGet, "/")
						synctest.Wait() // a page that is over goes a moment later
						if a.body != want || a.status == http.StatusTeapot || a.header.Get("X-Changed") != "" {
							t.Errorf("visit %d: %d %v, want %s", i, a.status, a, want)
						}
						if a.status == http.StatusOK && (a.header.Get("X-A") != "1" || a.header.Get("Cache-Control") != cc) {
							t.Errorf("visit %d: the header is %v", i, a.header)
						}
					}
					sleep(t, "1s") // until the last body ends
				})
			})
		}
	}
}

// careless returns a side whose clients change what they get.
func careless(c cached) http.RoundTripper {
	if f, ok := c.(fronted); ok {
		return handled{spoiling{f.server}}
	}
	return spoiled{c}
}
