package httpcache_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// crowd sends n requests concurrently, the first one first, and returns the answers. It calls
// release when all of them wait.
func crowd(t *testing.T, s server, n int, release func(), request func(i int) *http.Request) []answer {
	return together(n, release, func(i int) answer { return do(s, request(i)) })
}

// together is crowd for any way to ask.
func together(n int, release func(), ask func(i int) answer) []answer {
	answers := make([]answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { answers[i] = ask(i) })
		if i == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
	release()
	wg.Wait()
	return answers
}

// Any number of clients that want a missing page share one rendering.
func TestCoalescing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, h := newGate(), new(counted)
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			g.pass()
			h.ServeHTTP(w, r)
		}, httpcache.Config{})
		led := 0
		for _, a := range crowd(t, s, 100, func() { close(g.open) }, func(i int) *http.Request {
			return request(t, []string{http.MethodGet, http.MethodHead}[i%2], "/")
		}) {
			switch {
			case a.body != "" && a.body != "rendering 1" || a.header.Get("Content-Length") != "11":
				t.Error(a)
			case a.how() == "fwd=uri-miss;stored":
				led++
			case a.how() != "fwd=uri-miss;collapsed":
				t.Error(a.how())
			}
		}
		if st := s.c.Stats(); h.Load() != 1 || led != 1 || st.Misses != 1 || st.Coalesced != 99 || st.Stored != 1 {
			t.Errorf("%d renderings, %d led, %+v", h.Load(), led, st)
		}
	})
}

// A response for one client reaches no client that waited for it. Each is answered from its own
// request. After that, no client waits for another.
func TestWaitersOfAPrivateResponse(t *testing.T) {
	marks := map[string]func(http.ResponseWriter, *http.Request){
		"cookie":   set("Set-Cookie", "id=1"),
		"vary":     set("Vary", "X-Who"),
		"401":      status(http.StatusUnauthorized),
		"500":      status(http.StatusInternalServerError, set("Cache-Control", "private")),
		"no-store": set("Cache-Control", "no-store"),
	}
	for name, mark := range marks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				var running, most atomic.Int64
				s := serve(t, personal(func(w http.ResponseWriter, r *http.Request) {
					g.pass()
					most.Store(max(most.Load(), running.Add(1)))
					defer running.Add(-1)
					mark(w, r)
				}), httpcache.Config{})
				answers := crowd(t, s, 100, func() { close(g.open) }, func(i int) *http.Request {
					return request(t, http.MethodGet, "/", "X-Who", fmt.Sprint(i))
				})
				for i, a := range answers {
					if want := fmt.Sprint("hello ", i); a.body != want {
						t.Errorf("client %d got %q", i, a.body)
					}
				}
			})
		})
	}
}

// Clients of a key that is not for everybody get their own renderings, side by side. After ten
// seconds the key is tried again.
func TestRememberedKeysDoNotQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		private, block := true, newGate()
		s := serve(t, personal(func(w http.ResponseWriter, r *http.Request) {
			if private {
				w.Header().Set("Cache-Control", "private")
			}
			if r.Header.Get("X-Who") == "slow" {
				block.pass()
			}
		}), httpcache.Config{})
		s.get(t, "/", "X-Who", "first")
		var wg sync.WaitGroup
		wg.Go(func() { s.get(t, "/", "X-Who", "slow") })
		<-block.reached
		if a := s.get(t, "/", "X-Who", "quick"); a.how() != "fwd=bypass;detail=not-cacheable-a-moment-ago" { // while slow is being answered
			t.Error(a)
		}
		close(block.open)
		wg.Wait()
		private = false
		sleep(t, "10s")
		s.get(t, "/")
		if a := s.get(t, "/"); !a.hit() {
			t.Errorf("never tried again: %v", a)
		}
	})
}

// The memory does not grow with the number of keys, and confuses no keys.
func TestMemoryIsBounded(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/private") {
			w.Header().Set("Cache-Control", "private")
		}
	}, httpcache.Config{})
	for i := range 3 * httpcache.MemorySlots {
		s.get(t, fmt.Sprint("/private", i))
	}
	for i := range httpcache.MemorySlots {
		if a := s.get(t, fmt.Sprint("/public", i)); a.how() != "fwd=uri-miss;stored" {
			t.Fatal(a)
		}
	}
}

// A client that disconnects does not harm clients that still wait. When no client waits, the
// handler's context ends and nothing is stored.
func TestHangUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, h := newGate(), new(counted)
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			g.pass()
			if r.Context().Err() == nil {
				h.ServeHTTP(w, r)
			}
		}, httpcache.Config{})
		ctx, hangUp := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if a := do(s, request(t, http.MethodGet, "/").WithContext(ctx)); a.status != http.StatusServiceUnavailable {
				t.Errorf("the client that left got %v", a)
			}
		})
		<-g.reached
		wg.Go(func() {
			if a := s.get(t, "/"); a.body != "rendering 1" || a.how() != "fwd=uri-miss;collapsed" {
				t.Errorf("the waiting client got %v", a)
			}
		})
		synctest.Wait()
		hangUp()
		synctest.Wait()
		close(g.open)
		wg.Wait()
		if a := s.get(t, "/"); !a.hit() {
			t.Error(a)
		}
	})
}

// The same holds if the handler ignores its context: it may have left out part of the page.
func TestLastToHangUp(t *testing.T) {
	for range 20 { // both happen at once; either may be first
		lastHangsUp(t)
	}
}

func lastHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan error, 1)
		wait := true
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if wait {
				<-r.Context().Done()
				told <- context.Cause(r.Context())
			}
			_, _ = w.Write([]byte("for nobody"))
		}, httpcache.Config{})
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			hangUp()
		}()
		do(s, request(t, http.MethodGet, "/").WithContext(ctx))
		if err := <-told; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		wait = false
		synctest.Wait()
		if a := s.get(t, "/"); a.hit() {
			t.Errorf("stored without a client: %v", a)
		}
	})
}

// A client that disconnects cannot keep a page out of the cache. The handler's answer to the
// disconnect is not remembered.
func TestHangUpIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := true
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if wait {
				<-r.Context().Done()
				w.WriteHeader(http.StatusForbidden)
			}
		}, httpcache.Config{})
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			hangUp()
		}()
		do(s, request(t, http.MethodGet, "/").WithContext(ctx))
		synctest.Wait()
		wait = false
		s.get(t, "/")
		if a := s.get(t, "/"); !a.hit() {
			t.Error(a)
		}
	})
}

// A handler that ends its goroutine harms no other request.
func TestGoexit(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { goexit() }, httpcache.Config{})
	if a := s.get(t, "/"); a.status != http.StatusServiceUnavailable || a.header.Get("Cache-Control") != "no-store" {
		t.Error(a)
	}
}

// A page that requests another page while it is rendered gets it from the handler, and inherits
// its dependencies.
func TestNested(t *testing.T) {
	var s server
	n := 0
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/part" {
			n++
			cache.Depend(r.Context(), "part")
			fmt.Fprint(w, "part ", n)
			return
		}
		r = r.Clone(r.Context())
		r.URL.Path, r.RequestURI = "/part", "/part"
		_, _ = w.Write([]byte(do(s, r).body))
	}, httpcache.Config{})
	s.get(t, "/")
	if a := s.get(t, "/"); !a.hit() || a.body != "part 1" {
		t.Error(a)
	}
	s.invalidate(t, "part")
	if a := s.get(t, "/"); a.hit() || a.body != "part 2" {
		t.Error(a)
	}
}

// When the tiers are closed the site works without them.
func TestClosedTiers(t *testing.T) {
	h := new(counted)
	s := serve(t, h.ServeHTTP, httpcache.Config{})
	if err := s.tiers.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if a := s.get(t, "/"); a.body != fmt.Sprint("rendering ", i+1) || a.how() != "fwd=bypass;detail=closed" {
			t.Error(a)
		}
	}
}
