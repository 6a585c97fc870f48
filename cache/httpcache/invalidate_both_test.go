package httpcache_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// renewal is a script: a page, a 304, and another page.
func renewal() *origin {
	const cc = "max-age=10"
	return &origin{script: [][]string{{"Cache-Control", cc, "Etag", `"a"`}, {"Cache-Control", cc, "Etag", `"a"`, ":status", "304"}, {"Cache-Control", cc}}}
}

// A 304 does not undo an invalidation that came during the revalidation.
func TestInvalidatedWhileAsked(t *testing.T) {
	during := func() {}
	next := func() http.Handler {
		o := renewal()
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cache.Depend(r.Context(), "post")
			if o.asked() == 1 {
				during()
			}
			o.ServeHTTP(w, r)
		})
	}
	watched(t, nil, httpcache.Config{}, next, func(t *testing.T, do send, x cached) {
		during = func() { x.invalidate(t, "post") }
		do(http.MethodGet, "/")
		sleep(t, "11s")
		do(http.MethodGet, "/")
		if a := do(http.MethodGet, "/"); a.body == "body 1" {
			t.Errorf("after the invalidation: %v", a)
		}
	})
}

// A response to a request before a write is not stored after it. Its client, who reads it as it comes, gets
// it and waits for no other. The clients that waited for it share one request after the write.
func TestWriteDuringRead(t *testing.T) {
	var g *gate
	var asked atomic.Int64
	origin := func() http.Handler {
		g = newGate()
		asked.Store(0)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				return
			}
			n := asked.Add(1)
			w.Header().Set("Cache-Control", minute)
			_ = http.NewResponseController(w).Flush()
			if g.pass(); n > 1 {
				<-time.After(time.Second)
			}
			fmt.Fprint(w, "body ", n)
		})
	}
	for _, others := range []int{0, 5} {
		both(t, httpcache.Config{}, origin, func(t *testing.T, do send) {
			get := func() answer { return do(http.MethodGet, "/") }
			var wg sync.WaitGroup
			began := time.Now()
			wg.Go(func() {
				if a := get(); a.body != "body 1" || time.Since(began) > 0 {
					t.Errorf("the reader gets %v, after %v", a, time.Since(began))
				}
			})
			synctest.Wait()
			for range others {
				wg.Go(func() {
					if a := get(); a.body != "body 2" {
						t.Errorf("one who waited gets %v", a)
					}
				})
			}
			synctest.Wait()
			do(http.MethodPost, "/")
			close(g.open)
			wg.Wait()
			sleep(t, "5s")
			if n := asked.Load(); n != int64(1+min(others, 1)) {
				t.Errorf("%d requests for %d clients that waited", n, others)
			}
			if a := get(); a.hit() != (others > 0) || a.body != "body 2" {
				t.Errorf("then %v", a)
			}
		})
	}
}

// If each response is overtaken by a write, the origin is asked three times for all clients that wait: none
// waits for more than that, and none asks on its own.
func TestWriteDuringEachRead(t *testing.T) {
	for _, flushed := range []bool{true, false} {
		var asked atomic.Int64
		write := func() {}
		origin := func() http.Handler {
			asked.Store(0)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					return
				}
				n := asked.Add(1)
				w.Header().Set("Cache-Control", minute)
				if flushed {
					_ = http.NewResponseController(w).Flush()
				}
				<-time.After(time.Second)
				write()
				fmt.Fprint(w, "body ", n)
			})
		}
		both(t, httpcache.Config{}, origin, func(t *testing.T, do send) {
			write = func() { do(http.MethodPost, "/") }
			began := time.Now()
			for i, a := range together(50, func() {}, func(int) answer { return do(http.MethodGet, "/") }) {
				if a.body != "body 3" && (i > 0 || a.body != "body 1") {
					t.Errorf("client %d gets %v", i, a)
				}
			}
			if d := time.Since(began); asked.Load() != 3 || d > 3*time.Second {
				t.Errorf("%d requests, %v", asked.Load(), d)
			}
		})
	}
}

// A load that an invalidation overtook, and that nobody waits for, has not failed.
func TestWriteDuringLastRead(t *testing.T) {
	for _, on := range []side{handlerSide, sharedSide} {
		synctest.Test(t, func(t *testing.T) {
			write := func() {}
			tiers := openTiers(t, cache.TiersConfig{})
			do := sender(t, on.open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.Header().Set("Cache-Control", minute)
					_ = http.NewResponseController(w).Flush()
					write()
				}
			}), httpcache.Config{Tiers: tiers}))
			write = func() { do(http.MethodPost, "/") }
			do(http.MethodGet, "/")
			synctest.Wait()
			if n := tiers.Stats().Total; n.Loads.Errors != 0 || n.Loads.Repeated != 1 {
				t.Errorf("%s: %d loads have failed, %d were repeated", on.name, n.Loads.Errors, n.Loads.Repeated)
			}
		})
	}
}

// Purge and Expire apply to an entry with all its variants, and to no other. Only a Cache has Expire.
func TestPurgeVariants(t *testing.T) {
	origin := func() http.Handler {
		return &origin{script: [][]string{{"Cache-Control", "max-age=100, stale-while-revalidate=100", "Vary", "X-L"}}}
	}
	watched(t, nil, httpcache.Config{}, origin, func(t *testing.T, do send, x cached) {
		all := func(want string) {
			t.Helper()
			var got []string
			for _, ask := range [][]string{{"/", "a"}, {"/", "b"}, {"/?else", "a"}} {
				got = append(got, do(http.MethodGet, ask[0], "X-L", ask[1]).body)
				synctest.Wait()
			}
			if fmt.Sprint(got) != want {
				t.Errorf("%v, want %s", got, want)
			}
		}
		purge := func(method string, header ...string) {
			if err := x.Purge(t.Context(), outgoing(t, method, "http://example.com/", header...)); err != nil {
				t.Error(err)
			}
		}
		all("[body 1 body 2 body 3]")
		purge(http.MethodPost)
		all("[body 1 body 2 body 3]")
		purge(http.MethodGet, "X-L", "a")
		all("[body 4 body 5 body 3]")
		f, ok := x.(fronted)
		if !ok {
			return
		}
		if err := f.Expire(t.Context(), request(t, http.MethodGet, "/")); err != nil {
			t.Error(err)
		}
		all("[body 4 body 5 body 3]")
		all("[body 6 body 7 body 3]")
	})
}

// A Transport purges one partition only.
func TestTransportPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := transport(t, numbered("Cache-Control", minute), httpcache.TransportConfig{})
		c.get(t)
		c.get(t, "Cookie", "c")
		if err := c.Purge(t.Context(), outgoing(t, http.MethodGet, pageURL)); err != nil {
			t.Error(err)
		}
		if a, b := c.get(t), c.get(t, "Cookie", "c"); a.hit() || !b.hit() {
			t.Errorf("%v, and with a cookie %v", a, b)
		}
	})
}

// A write ends the pages of its path in every spelling that an origin may read as that path (RFC 3986
// §6.2.2.3). A client must not keep a page from being renewed by the way it spells its write.
func TestWritesInOtherSpellings(t *testing.T) {
	next := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			if r.Method == http.MethodPost && r.URL.Query().Has("at") {
				w.Header().Set("Location", r.URL.Query().Get("at"))
				w.WriteHeader(http.StatusCreated)
			}
		})
	}
	for target, ends := range map[string]bool{
		"/a/b": true, "/a/./b": true, "/x/../a/b": true, "//a/b": true, "/a//b": true, "/../a/b": true, "/%2e%2e/a/b": true, "/a/%62": true,
		"/a/b/.": false, "/a/b/": false, "/a": false, "/a/b/c": false, "/": false, "/?at=//example.com//a/b": true, "/?at=x/../../a//b": true,
	} {
		t.Run(target, func(t *testing.T) {
			both(t, httpcache.Config{}, next, func(t *testing.T, do send) {
				do(http.MethodGet, "/a/b")
				do(http.MethodPost, target)
				if a := do(http.MethodGet, "/a/b"); a.hit() == ends {
					t.Error(a)
				}
			})
		})
	}
}
