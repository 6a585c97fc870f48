package httpcache_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// A GET whose response may not be stored reaches the origin once, as the client sent it, and the
// client gets that response.
func TestAskedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		target string
		header []string
		query  string // what the origin sees
	}{
		"plain":           {target: "/a"},
		"forwarded":       {target: "/a", header: []string{"X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https"}},
		"host":            {target: "/a", header: []string{"Host", "EXAMPLE.com"}},
		"tracking":        {target: "/a?x=1&utm_source=mail", query: "x=1&utm_source=mail"},
		"order":           {target: "/a?b=1&a=2&b=0", query: "b=1&a=2&b=0"},
		"no value":        {target: "/a?wsdl", query: "wsdl"},
		"space":           {target: "/a?q=a%20b", query: "q=a%20b"},
		"plus":            {target: "/a?q=a+b", query: "q=a+b"},
		"escapes":         {target: "/a?q=%7e%2f%3A:/@", query: "q=%7e%2f%3A:/@"},
		"path":            {target: "/a%2fb?x", query: "x"},
		"condition":       {target: "/a?b", query: "b", header: []string{"If-None-Match", `"x"`}},
		"language":        {target: "/a", header: []string{"Accept-Language", "de, en;q=0.5"}},
		"empty parameter": {target: "/a?&x&&", query: "&x&&"},
	} {
		for kind, header := range map[string][]string{
			"private": {"Cache-Control", "private"}, "silent": {}, "no-store": {"Cache-Control", "no-store"},
			"cookie": {"Set-Cookie", "a=b"}, "302": {":status", "302", "Location", "/once"}, "403": {":status", "403"},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				var asked atomic.Int64
				next := func() http.Handler {
					o := &origin{script: [][]string{header}}
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						asked.Add(1)
						w.Header().Set("X-Query", r.URL.RawQuery)
						o.ServeHTTP(w, r)
					})
				}
				both(t, httpcache.Config{}, next, func(t *testing.T, do send) {
					asked.Store(0)
					a := do(http.MethodGet, c.target, c.header...)
					if a.body != "body 1" || asked.Load() != 1 || a.header.Get("X-Query") != c.query {
						t.Errorf("%v, asked %d times", a, asked.Load())
					}
				})
			})
		}
	}
}

// Clients that come at the same time share one request, with the parameters of one of them, also if
// those are not in the key.
func TestSharedMissWithTracking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		g := newGate()
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			g.pass()
			if !strings.HasPrefix(r.URL.RawQuery, "x=%20&utm_source=mail-") {
				t.Errorf("the origin was asked for %q", r.URL.RawQuery)
			}
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprint(w, "page")
		}), httpcache.Config{Query: func(string) ([]string, bool) { return []string{"x"}, true }})
		for _, a := range crowd(t, s, 10, func() { close(g.open) }, func(i int) *http.Request {
			return request(t, http.MethodGet, fmt.Sprint("/?x=%20&utm_source=mail-", i))
		}) {
			if a.body != "page" {
				t.Error(a)
			}
		}
		if a := s.get(t, "/?x=+"); !a.hit() || asked.Load() != 1 {
			t.Errorf("%v, asked %d times", a, asked.Load())
		}
	})
}

// A refresh that the origin refuses leaves the stored page to stale-while-revalidate, for all
// clients, and no client's request keeps a page out of the cache.
func TestRefusedRefresh(t *testing.T) {
	for _, status := range []string{"401", "403", "429", "501", "431"} {
		t.Run(status, func(t *testing.T) {
			var o *origin
			next := func() http.Handler {
				o = &origin{script: [][]string{{"Cache-Control", "max-age=10, stale-while-revalidate=600"}, {":status", status}}}
				return o
			}
			sides(t, httpcache.Config{}, next, func(t *testing.T, get func(...string) answer) {
				get()
				sleep(t, "11s")
				for i := range 20 {
					if a := get(); a.status != http.StatusOK || a.body != "body 1" || !a.hit() {
						t.Fatalf("visit %d: %v", i, a)
					}
					synctest.Wait()
				}
				if o.asked() != 2 {
					t.Errorf("the origin was asked %d times, although it had just refused", o.asked())
				}
				sleep(t, "10s")
				if a := get(); a.body != "body 1" || !a.hit() {
					t.Error(a)
				}
				if synctest.Wait(); o.asked() != 3 {
					t.Errorf("after a while the origin was asked %d times", o.asked())
				}
			})
		})
	}
}

// A client whose request is refused, or whose response is its own, keeps no page from others.
func TestNobodySwitchesTheCacheOff(t *testing.T) {
	for name, c := range map[string]struct {
		cfg    httpcache.Config
		header []string
		status int
	}{
		"credentials": {header: []string{"Authorization", "x"}, status: 200},
		"agent":       {header: []string{"User-Agent", "bad"}, status: 403},
		"too many":    {header: []string{"User-Agent", "bad"}, status: 429},
	} {
		t.Run(name, func(t *testing.T) {
			next := func() http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Cache-Control", "max-age=10")
					if r.Header.Get(c.header[0]) == c.header[1] {
						w.Header().Set("Cache-Control", "max-age=0")
						w.WriteHeader(c.status)
					}
					fmt.Fprint(w, "page")
				})
			}
			sides(t, c.cfg, next, func(t *testing.T, get func(...string) answer) {
				get(c.header...)
				synctest.Wait() // its load may end after it has its response
				get()
				for range 3 {
					get(c.header...)
					synctest.Wait()
					if a := get(); !a.hit() {
						t.Error(a)
					}
				}
			})
		})
	}
}

// A response that takes longer than LoadTimeout is a response, for all clients, and it is stored.
func TestSlowIsNoFailure(t *testing.T) {
	for name, c := range map[string]struct{ header, body time.Duration }{
		"header": {header: 3 * time.Second}, "body": {body: 3 * time.Second}, "both": {3 * time.Second, 3 * time.Second},
	} {
		for _, clients := range []int64{1, 3} {
			t.Run(fmt.Sprint(name, clients), func(t *testing.T) {
				var asked atomic.Int64
				next := func() http.Handler {
					asked.Store(0)
					return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						asked.Add(1)
						<-time.After(c.header)
						w.Header().Set("Cache-Control", "max-age=60")
						fmt.Fprint(w, "pa")
						<-time.After(c.body)
						fmt.Fprint(w, "ge")
					})
				}
				cfg := httpcache.Config{Policy: policy.Patch{LoadTimeout: new(time.Second)}}
				watched(t, []side{handlerSide, sharedSide, pagesSide}, cfg, next, func(t *testing.T, do send, x cached) {
					get := func() answer { return do(http.MethodGet, "/") }
					var wg sync.WaitGroup
					for range clients {
						wg.Go(func() {
							if a := get(); a.status != http.StatusOK || a.body != "page" {
								t.Error(a)
							}
						})
					}
					wg.Wait()
					synctest.Wait()
					if a := get(); a.body != "page" || !a.hit() || asked.Load() != clients {
						t.Errorf("%v, after %d requests of the origin", a, asked.Load())
					}
					if st := x.Stats(); st.Stored != 1 || st.Refused["unavailable"] != 0 {
						t.Errorf("%+v", st)
					}
				})
			})
		}
	}
}

// Slow responses hold what has arrived of them, not what they announce, and all together no more than
// a limit. A response that finds no room goes on to its client.
func TestSlowBodiesAreBounded(t *testing.T) {
	const maxBody, clients = 1 << 20, 100
	limit, body := httpcache.MaxHeld(maxBody), strings.Repeat("x", maxBody)
	var g *gate
	origin := func() http.Handler {
		g = newGate()
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			w.Header().Set("Content-Length", strconv.Itoa(maxBody))
			fmt.Fprint(w, body[:1])
			_ = http.NewResponseController(w).Flush()
			<-g.reached
			fmt.Fprint(w, body[1:maxBody-1])
			<-g.open
			fmt.Fprint(w, body[maxBody-1:])
		})
	}
	cfg := httpcache.Config{MaxBody: maxBody, Policy: policy.Patch{LoadTimeout: new(time.Hour)}}
	watched(t, nil, cfg, origin, func(t *testing.T, do send, c cached) {
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				if a := do(http.MethodGet, fmt.Sprint("/", i)); a.body != body {
					t.Errorf("got %d bytes, %s", len(a.body), a.how())
				}
			})
		}
		synctest.Wait()
		if n := c.Held(); n == 0 || n > clients<<16 {
			t.Errorf("%d bytes are held for %d bytes", n, clients)
		}
		close(g.reached)
		synctest.Wait()
		if n := c.Held(); n < limit/2 || n > limit { // those that ask at once may all be refused
			t.Errorf("%d bytes are held, want up to %d", n, limit)
		}
		close(g.open)
		wg.Wait()
		synctest.Wait()
		st := c.Stats()
		if n := c.Held(); n != 0 || st.Refused["no-room"]+st.Stored != clients || st.Refused["no-room"] == 0 {
			t.Errorf("%d bytes are held in the end, %+v", n, st)
		}
	})
}

// A body that is too long to be stored holds no memory from then on, however long its client reads.
func TestLongBodyHoldsNothing(t *testing.T) {
	const maxBody, clients = 1 << 20, 20
	for _, announced := range []bool{false, true} {
		var g *gate
		origin := func() http.Handler {
			g = newGate()
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", "max-age=60")
				if announced {
					w.Header().Set("Content-Length", strconv.Itoa(2*maxBody))
				}
				_, _ = w.Write(make([]byte, maxBody))
				_ = http.NewResponseController(w).Flush()
				_, _ = w.Write(make([]byte, maxBody/2))
				<-g.open
				_, _ = w.Write(make([]byte, maxBody/2))
			})
		}
		watched(t, nil, httpcache.Config{MaxBody: maxBody}, origin, func(t *testing.T, do send, x cached) {
			var wg sync.WaitGroup
			for i := range clients {
				wg.Go(func() {
					if a := do(http.MethodGet, fmt.Sprint("/", i)); len(a.body) != 2*maxBody {
						t.Errorf("got %d bytes, %s", len(a.body), a.how())
					}
				})
			}
			synctest.Wait()
			if n := x.Held(); n != 0 {
				t.Errorf("%d bytes are held", n)
			}
			close(g.open)
			wg.Wait()
			if st := x.Stats(); st.Refused["too-large"] != clients || st.Stored != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// Cache-Status says "stored" only of a response that the tiers were given.
func TestStoredMeansStored(t *testing.T) {
	for name, forbid := range map[string]func(*http.Request){
		"no store": func(r *http.Request) { cache.Filling(r.Context()).NoStore() },
		"bad tag":  func(r *http.Request) { cache.Depend(r.Context(), "") },
		"":         func(*http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			next := func() http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					forbid(r)
					w.Header().Set("Cache-Control", "max-age=60")
					fmt.Fprint(w, "page")
				})
			}
			sides(t, httpcache.Config{}, next, func(t *testing.T, get func(...string) answer) {
				first := get()
				stored := get().hit()
				if said := strings.Contains(first.how(), "stored"); said != stored || stored != (name == "") || !stored && !strings.Contains(first.how(), "detail=load") {
					t.Errorf("%v, then stored: %v", first, stored)
				}
			})
		})
	}
}

// Waiting clients of different variants each get their own.
func TestVariantsDoNotMix(t *testing.T) {
	var g *gate
	var asked atomic.Int64
	origin := func() http.Handler {
		g = newGate()
		asked.Store(0)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			<-g.open
			w.Header().Set("Cache-Control", "max-age=60")
			w.Header().Set("Vary", "A")
			fmt.Fprint(w, r.Header.Get("A"))
		})
	}
	sides(t, httpcache.Config{}, origin, func(t *testing.T, get func(...string) answer) {
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				want := fmt.Sprint(i % 3)
				if a := get("A", want); a.body != want {
					t.Errorf("a client that wants %s gets %v", want, a)
				}
			})
		}
		synctest.Wait()
		close(g.open)
		wg.Wait()
		if asked.Load() != 3 {
			t.Errorf("%d requests", asked.Load())
		}
	})
}
