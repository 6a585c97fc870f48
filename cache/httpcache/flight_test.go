package httpcache_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
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

// A handler that ends its goroutine harms no other request.
func TestGoexit(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { runtime.Goexit() }, httpcache.Config{})
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
