package httpcache_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A request that shares a load which leaves the page of an Expire as it is does not get that page: of
// only-if-cached, and of another variant in a process that does not know the page yet. It gets the page in place
// of an error of the origin, as it would alone.
func TestExpireOfSharedLoads(t *testing.T) {
	for _, c := range []struct {
		name    string
		s       side
		other   bool // the requests come to another process
		cc      string
		later   string // after the Expire
		leading []string
	}{
		{"only-if-cached", sharedSide, false, minute, "1s", []string{"Accept-Language", "en", "Cache-Control", "only-if-cached"}},
		{"only-if-cached, private", privateSide, false, minute, "1s", []string{"Accept-Language", "en", "Cache-Control", "only-if-cached, max-stale"}},
		{"only-if-cached, past its lifetime", privateSide, false, "max-age=60, stale-while-revalidate=60", "65s", []string{"Accept-Language", "en", "Cache-Control", "only-if-cached, max-stale"}},
		{"only-if-cached, in place of an error", privateSide, false, "max-age=60, stale-if-error=60", "1s", []string{"Accept-Language", "en", "Cache-Control", "only-if-cached"}},
		{"variant", sharedSide, true, minute, "1s", []string{"Accept-Language", "de"}},
		{"variant", handlerSide, true, minute, "1s", []string{"Accept-Language", "de"}},
		{"variant, in place of an error", sharedSide, true, "max-age=60, stale-if-error=60", "1s", []string{"Accept-Language", "de"}},
		{"variant, in place of an error", handlerSide, true, "max-age=60, stale-if-error=60", "1s", []string{"Accept-Language", "de"}},
	} {
		t.Run(c.name+" "+c.s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory, l := tiertest.NewMemory(), logtest.NewMemory(logtest.MemoryConfig{})
				var down atomic.Bool
				o := failing(&down, numberedByLanguage(c.cc))
				process := func() (send, *cache.Tiers, *tiertest.Faulty) {
					remote := tiertest.NewFaulty(memory)
					tiers := openFollowing(t, remote, l)
					return sender(t, c.s.open(t, o, httpcache.Config{Tiers: tiers})), tiers, remote
				}
				do, tiers, remote := process()
				do(http.MethodGet, "/", "Accept-Language", "en")
				if c.other {
					do, _, remote = process()
				}
				if err := tiers.Expire(t.Context(), invalidate.All()); err != nil {
					t.Fatal(err)
				}
				sleep(t, c.later)
				down.Store(strings.Contains(c.cc, "if-error"))
				g := newGate()
				remote.Before(func(context.Context, tiertest.Op, []string) { g.pass() })
				var leader, joiner answer
				var wg sync.WaitGroup
				wg.Go(func() { leader = do(http.MethodGet, "/", c.leading...) })
				<-g.reached
				wg.Go(func() { joiner = do(http.MethodGet, "/", "Accept-Language", "en") })
				synctest.Wait()
				close(g.open)
				wg.Wait()
				if joiner.body == "en 1" != down.Load() || joiner.status != http.StatusOK {
					t.Errorf("after Expire: %v; the request that it waited for got %v", joiner, leader)
				}
			})
		})
	}
}

// failing is a handler that answers 500 while down is set.
func failing(down *atomic.Bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// numberedByLanguage answers with the language and the number of the request.
func numberedByLanguage(cc string) http.Handler {
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", cc)
		w.Header().Set("Vary", "Accept-Language")
		fmt.Fprint(w, r.Header.Get("Accept-Language"), " ", asked.Add(1))
	})
}
