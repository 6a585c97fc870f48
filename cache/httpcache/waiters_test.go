package httpcache_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// Clients that come while a response is on its way get that response only if it may be reused. Otherwise
// they get one that their origin was asked for after they came.
func TestWaitersOfAResponseToValidate(t *testing.T) {
	for _, c := range []struct {
		cc   string
		want string // for the client that came later
	}{
		{"max-age=60", "version 1"},
		{"no-cache", "version 2"},
		{"max-age=0", "version 2"},
		{"max-age=0, must-revalidate", "version 2"},
		{"max-age=1, stale-while-revalidate=60", "version 1"},
	} {
		var g *gate
		origin := func() http.Handler {
			n := 0
			g = newGate()
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n++
				version := n
				g.pass()
				w.Header().Set("Cache-Control", c.cc)
				w.Header().Set("Etag", fmt.Sprintf(`"%d"`, version))
				fmt.Fprint(w, "version ", version)
			})
		}
		sides(t, httpcache.Config{}, origin, func(t *testing.T, get func(header ...string) answer) {
			var wg sync.WaitGroup
			want := func(body string) {
				wg.Go(func() {
					if a := get(); a.body != body {
						t.Errorf("%s: %v, want %s", c.cc, a, body)
					}
				})
			}
			want("version 1")
			<-g.reached
			sleep(t, "2s")
			want(c.want)
			synctest.Wait()
			close(g.open)
			wg.Wait()
		})
	}
}

// Callers that may not reuse the response that they waited for do not wait for one another. A response
// that is stale when it comes is for all that waited, unless it says that each must ask.
func TestTransportWaitersDoNotQueue(t *testing.T) {
	for cc, shared := range map[string]bool{"no-cache": false, "max-age=0": false, "max-age=1": true, "": true} {
		synctest.Test(t, func(t *testing.T) {
			c := transport(t, &upstream{answer: func(_ *http.Request, n int) (*http.Response, error) {
				<-time.After(time.Second)
				header := []string{"Etag", `"v"`}
				if cc != "" {
					header = append(header, "Cache-Control", cc)
				}
				return says(http.StatusOK, fmt.Sprint("answer ", n), header...), nil
			}}, httpcache.TransportConfig{})
			var wg sync.WaitGroup
			begin := time.Now()
			for range 16 {
				wg.Go(func() { c.get(t) })
			}
			wg.Wait()
			want := time.Second
			if !shared { // those that waited ask again, together
				want *= 2
			}
			if d := time.Since(begin); d != want || (c.o.asked() == 1) != shared {
				t.Errorf("%q: %d requests in %v, want %v", cc, c.o.asked(), d, want)
			}
		})
	}
}

// A clock that is set back between a request and its answer repeats no request.
func TestTransportClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Duration(0)
		c := transport(t, &upstream{answer: func(r *http.Request, _ int) (*http.Response, error) {
			back += time.Second
			if r.Header.Get("If-None-Match") != "" {
				return says(http.StatusNotModified, ""), nil
			}
			return says(http.StatusOK, "page", "Cache-Control", "no-cache", "Etag", `"v"`), nil
		}}, httpcache.TransportConfig{Now: func() time.Time { return time.Now().Add(-back) }})
		for i := range 3 {
			if a := c.get(t); a.body != "page" || c.o.asked() != i+1 {
				t.Errorf("%v, after %d requests", a, c.o.asked())
			}
		}
	})
}
