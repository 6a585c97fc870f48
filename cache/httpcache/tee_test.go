package httpcache_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// parts is a handler that flushes after each part, and waits before the next.
func parts(header http.Header, wait func(), body ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		for i, part := range body {
			if i > 0 {
				wait()
			}
			_, _ = w.Write([]byte(part))
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// A reverse proxy flushes every response without a length. The first client gets it as it comes.
// Other clients, waiting or later, get the whole page from the cache.
func TestFlushedAndStored(t *testing.T) {
	cases := map[string]struct {
		hangUp  bool   // the first client disconnects in between
		late    string // how long the rest takes
		maxBody int
		second  string // the second client's Cache-Status
		third   string
	}{
		"both stay":       {second: "fwd=uri-miss;collapsed", third: "hit"},
		"one hangs up":    {hangUp: true, second: "fwd=uri-miss;collapsed", third: "hit"},
		"too long":        {maxBody: 5, second: "fwd=uri-miss;detail=too-large", third: "fwd=bypass;detail=not-cacheable-a-moment-ago"},
		"after the limit": {late: "20s", second: "fwd=bypass;detail=slow", third: "hit"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				h := parts(http.Header{"Cache-Control": {"max-age=60"}}, g.pass, "one ", "two")
				s := proxied(t, h, httpcache.Config{MaxBody: c.maxBody, Policy: policy.Patch{LoadTimeout: new(10 * time.Second)}})
				ctx, cancel := context.WithCancel(t.Context())
				first, second := httptest.NewRecorder(), make(chan answer, 1)
				done := make(chan struct{})
				go func() {
					defer close(done)
					s.ServeHTTP(first, request(t, http.MethodGet, "/").WithContext(ctx))
				}()
				synctest.Wait()
				if first.Body.String() != "one " || !first.Flushed {
					t.Fatalf("before the rest is there: %q", first.Body)
				}
				go func() { second <- s.get(t, "/") }()
				synctest.Wait()
				if c.hangUp {
					cancel()
				}
				if c.late != "" {
					sleep(t, c.late)
				}
				close(g.open)
				<-done
				if a := <-second; a.body != "one two" || a.how() != c.second {
					t.Errorf("the second client: %v", a)
				}
				if first.Body.String() != "one two" {
					t.Errorf("the first client: %q", first.Body)
				}
				synctest.Wait() // a load that has timed out stores its page after its client has it
				if a := s.get(t, "/"); a.body != "one two" || !strings.HasPrefix(a.how(), c.third) {
					t.Errorf("the third client: %v", a)
				}
				cancel()
			})
		})
	}
}

// unrecorded are responses with the validator "v" that are not stored. They answer conditions.
func unrecorded() map[string]http.HandlerFunc {
	long := strings.Repeat("x", 2000)
	say := func(set func(h http.Header), body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			set(w.Header())
			w.Header().Set("Etag", `"v"`)
			if r.Header.Get("If-None-Match") == `"v"` {
				w.Header().Del("Content-Length")
				w.WriteHeader(http.StatusNotModified)
				return
			}
			for part := range strings.SplitSeq(body, "|") {
				_, _ = w.Write([]byte(part))
			}
		}
	}
	return map[string]http.HandlerFunc{
		"private":  say(func(h http.Header) { h.Set("Cache-Control", "private, max-age=60") }, "page"),
		"too long": say(func(h http.Header) { h.Set("Cache-Control", "max-age=60") }, long[:900]+"|"+long),
		"announced as too long": say(func(h http.Header) {
			h.Set("Cache-Control", "max-age=60")
			h.Set("Content-Length", strconv.Itoa(len(long)))
		}, long),
	}
}

// A client that has a response does not get it again, even if the response is not stored, and the source has
// not seen the client's condition.
func TestUnchangedAndNotStored(t *testing.T) {
	for name, h := range unrecorded() {
		t.Run(name, func(t *testing.T) {
			sides(t, httpcache.Config{MaxBody: 1000}, func() http.Handler { return h }, func(t *testing.T, get func(header ...string) answer) {
				for range 2 {
					if a := get("If-None-Match", `"v"`); a.status != http.StatusNotModified || a.body != "" || a.header.Get("Etag") != `"v"` || a.header.Get("Content-Length") != "" {
						t.Errorf("the client that has it gets %v", a)
					}
					sleep(t, "1m") // a refusal is remembered for a moment
					if a := get("If-None-Match", `"other"`); a.status != http.StatusOK || a.body == "" {
						t.Errorf("a client with another one gets %v", a)
					}
					sleep(t, "1m")
				}
			})
		})
	}
}
