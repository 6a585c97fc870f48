package httpcache_test

import (
	"context"
	"fmt"
	"net/http"
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

// After Expire a request of another variant leaves the page of the URL stale, also in another process.
func TestExpireOfVariants(t *testing.T) {
	for _, cc := range []string{"max-age=60, stale-while-revalidate=60", "max-age=60"} {
		for _, shared := range []bool{true, false} {
			t.Run(fmt.Sprint(cc, shared), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					remote, asked, l := tiertest.NewMemory(), 0, logtest.NewMemory(logtest.MemoryConfig{})
					o := func(l string) string {
						asked++
						return fmt.Sprint(l, " ", asked)
					}
					process := func() (get func(lang string) string, tiers *cache.Tiers) {
						tiers = openTiers(t, cache.TiersConfig{Remote: remote, Log: l})
						if err := tiers.Ready(t.Context()); err != nil {
							t.Fatal(err)
						}
						if shared {
							s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
								w.Header().Set("Cache-Control", cc)
								w.Header().Set("Vary", "Accept-Language")
								fmt.Fprint(w, o(r.Header.Get("Accept-Language")))
							}), httpcache.Config{Tiers: tiers})
							return func(l string) string { return s.get(t, "/", "Accept-Language", l).body }, tiers
						}
						c := transport(t, &upstream{answer: func(r *http.Request, _ int) (*http.Response, error) {
							return says(200, o(r.Header.Get("Accept-Language")), "Cache-Control", cc, "Vary", "Accept-Language"), nil
						}}, httpcache.TransportConfig{Tiers: tiers})
						return func(l string) string { return c.get(t, "Accept-Language", l).body }, tiers
					}
					a, tiers := process()
					b, _ := process()
					a("de")
					a("en")
					if err := tiers.Expire(t.Context(), invalidate.All()); err != nil {
						t.Fatal(err)
					}
					sleep(t, "1s")
					b("en")
					sleep(t, "2s")
					b("de")
					sleep(t, "2s")
					got := []string{b("de"), b("en")}
					if fmt.Sprint(got) != "[de 4 en 3]" {
						t.Error(got)
					}
				})
			})
		}
	}
}

// A request that shares a load which leaves the page of an Expire as it is does not get that page: of
// only-if-cached, and of another variant in a process that does not know the page yet.
func TestExpireOfSharedLoads(t *testing.T) {
	for _, c := range []struct {
		name    string
		s       side
		other   bool // the requests come to another process
		leading []string
	}{
		{"only-if-cached", sharedSide, false, []string{"Accept-Language", "en", "Cache-Control", "only-if-cached"}},
		{"only-if-cached, private", privateSide, false, []string{"Accept-Language", "en", "Cache-Control", "only-if-cached, max-stale"}},
		{"variant", sharedSide, true, []string{"Accept-Language", "de"}},
		{"variant", handlerSide, true, []string{"Accept-Language", "de"}},
	} {
		t.Run(c.name+" "+c.s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory, l := tiertest.NewMemory(), logtest.NewMemory(logtest.MemoryConfig{})
				o := numberedByLanguage(minute)
				process := func() (send, *cache.Tiers, *tiertest.Faulty) {
					remote := tiertest.NewFaulty(memory)
					tiers := openTiers(t, cache.TiersConfig{Remote: remote, Log: l})
					if err := tiers.Ready(t.Context()); err != nil {
						t.Fatal(err)
					}
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
				sleep(t, "1s")
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
				if joiner.body == "en 1" || joiner.status != http.StatusOK {
					t.Errorf("after Expire: %v; the request that it waited for got %v", joiner, leader)
				}
			})
		})
	}
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
