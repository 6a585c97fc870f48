package httpcache_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// After Expire a page is served stale as long as stale-while-revalidate allows from then on. A request that
// leaves the page as it is does not prolong that.
func TestLeavingAPageProlongsNothing(t *testing.T) {
	for _, demand := range []string{"", "only-if-cached", "max-stale=3", "only-if-cached, max-stale=3"} {
		t.Run(demand, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := transport(t, numbered("Cache-Control", "max-age=60, stale-while-revalidate=60"), httpcache.TransportConfig{})
				c.get(t)
				sleep(t, "10s")
				if err := c.tiers.Expire(t.Context(), invalidate.All()); err != nil {
					t.Fatal(err)
				}
				sleep(t, "55s")
				if demand != "" {
					c.get(t, "Cache-Control", demand)
				}
				sleep(t, "35s")
				if a := c.get(t); a.body == "answer 1" {
					t.Error(a)
				}
			})
		})
	}
}

// The same of a request for another variant, in a process that does not know the page yet. It finds its variant
// by the page, and the variant is stored.
func TestLeavingAPageForAVariant(t *testing.T) {
	for _, s := range []side{handlerSide, sharedSide} {
		for _, c := range []struct{ cc, expired, later string }{
			{"max-age=60, stale-while-revalidate=60", "10s", "65s"},
			{"max-age=60, stale-while-revalidate=5", "1s", "10s"},
			{"max-age=60, stale-if-error=60", "10s", "65s"},
			{"max-age=60", "1s", "10s"},
		} {
			t.Run(s.name+" "+c.cc, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					remote, l, o := tiertest.NewMemory(), logtest.NewMemory(logtest.MemoryConfig{}), numberedByLanguage(c.cc)
					process := func() (get func(language string) answer, tiers *cache.Tiers) {
						tiers = openFollowing(t, remote, l)
						do := sender(t, s.open(t, o, httpcache.Config{Tiers: tiers}))
						return func(language string) answer { return do(http.MethodGet, "/", "Accept-Language", language) }, tiers
					}
					a, tiers := process()
					b, _ := process()
					a("en")
					sleep(t, c.expired)
					if err := tiers.Expire(t.Context(), invalidate.All()); err != nil {
						t.Fatal(err)
					}
					sleep(t, c.later)
					first := b("de")
					synctest.Wait()
					again := b("de")
					sleep(t, "2s")
					if got := fmt.Sprint(first.body, ", ", again.body, " ", again.hit(), ", ", b("en").body); got != "de 2, de 2 true, en 3" {
						t.Errorf("%s; %s", got, first.how())
					}
				})
			})
		}
	}
}

// Warm finds the variant, too.
func TestWarmAfterExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote, l, o := tiertest.NewMemory(), logtest.NewMemory(logtest.MemoryConfig{}), numberedByLanguage("max-age=60, stale-while-revalidate=5")
		process := func() server {
			tiers := openFollowing(t, remote, l)
			return proxied(t, o, httpcache.Config{Tiers: tiers})
		}
		a, b := process(), process()
		a.get(t, "/", "Accept-Language", "en")
		sleep(t, "1s")
		if err := a.tiers.Expire(t.Context(), invalidate.All()); err != nil {
			t.Fatal(err)
		}
		sleep(t, "10s")
		w, err := b.Warm(t.Context(), "http://example.com/", http.Header{"Accept-Language": {"de"}})
		if got := b.get(t, "/", "Accept-Language", "de"); err != nil || !w.Stored || !got.hit() || got.body != "de 2" {
			t.Errorf("%+v, %v; then %v", w, err, got)
		}
	})
}

// Warm that shares a load which leaves the page makes a new one.
func TestWarmSharesALoadThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, l, o := tiertest.NewMemory(), logtest.NewMemory(logtest.MemoryConfig{}), numberedByLanguage(minute)
		process := func() (server, *tiertest.Faulty) {
			remote := tiertest.NewFaulty(memory)
			tiers := openFollowing(t, remote, l)
			return proxied(t, o, httpcache.Config{Tiers: tiers}), remote
		}
		a, _ := process()
		b, remote := process()
		a.get(t, "/", "Accept-Language", "en")
		if err := a.tiers.Expire(t.Context(), invalidate.All()); err != nil {
			t.Fatal(err)
		}
		sleep(t, "1s")
		g := newGate()
		remote.Before(func(context.Context, tiertest.Op, []string) { g.pass() })
		var wg sync.WaitGroup
		wg.Go(func() { b.get(t, "/", "Accept-Language", "de") })
		<-g.reached
		var warmed httpcache.Warmed
		var err error
		wg.Go(func() {
			warmed, err = b.Warm(t.Context(), "http://example.com/", http.Header{"Accept-Language": {"en"}})
		})
		synctest.Wait()
		close(g.open)
		wg.Wait()
		if got := b.get(t, "/", "Accept-Language", "en"); err != nil || !warmed.Stored || !got.hit() || got.body == "en 1" {
			t.Errorf("%+v, %v; then %v", warmed, err, got)
		}
	})
}
