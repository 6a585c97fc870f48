package httpcache_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
)

// A 304 to a caller with credentials does not answer waiting callers.
func TestTransportRenewedForItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		o := scripted(replies(200, "one", "Cache-Control", "max-age=1", "Etag", `"v1"`), func(*http.Request) *http.Response {
			g.pass()
			return says(304, "", "Cache-Control", minute)
		}, replies(200, "own", "Cache-Control", "private"))
		tr := transport(t, o, httpcache.TransportConfig{Shared: true})
		tr.get(t)
		sleep(t, "2s")
		first, others := make(chan answer, 1), make(chan answer, 3)
		go func() { first <- tr.get(t, "Authorization", "Bearer 1") }()
		synctest.Wait()
		for range cap(others) {
			go func() { others <- tr.get(t) }()
		}
		synctest.Wait()
		close(g.open)
		if a := <-first; a.body != "one" || strings.Contains(a.how(), "stored") {
			t.Errorf("its caller got %v", a)
		}
		for range cap(others) {
			if a := <-others; a.body != "own" {
				t.Errorf("another caller got %v", a)
			}
		}
	})
}

// After Expire a Transport serves the old page as stale, and one request renews it, although its own
// lifetime is not over.
func TestTransportExpire(t *testing.T) {
	for name, cc := range map[string]string{"stale while revalidating": "max-age=60, stale-while-revalidate=60", "never stale": "max-age=60"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := transport(t, numbered("Cache-Control", cc), httpcache.TransportConfig{})
				c.get(t)
				if err := c.tiers.Expire(t.Context(), invalidate.All()); err != nil {
					t.Fatal(err)
				}
				first := c.get(t)
				synctest.Wait()
				if a := c.get(t); a.body != "answer 2" || c.o.asked() != 2 {
					t.Errorf("after Expire: %v, then %v, with %d requests", first, a, c.o.asked())
				}
			})
		})
	}
}

// A request whose load leaves the page as it is leaves it stale after Expire.
func TestTransportExpireLeft(t *testing.T) {
	for _, demand := range []string{"max-stale", "max-stale=100", "only-if-cached", "only-if-cached, max-stale", "min-fresh=1", "max-age=100"} {
		for _, cc := range []string{"max-age=60, stale-while-revalidate=60", "max-age=60"} {
			t.Run(demand+" "+cc, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := transport(t, numbered("Cache-Control", cc), httpcache.TransportConfig{})
					c.get(t)
					if err := c.tiers.Expire(t.Context(), invalidate.All()); err != nil {
						t.Fatal(err)
					}
					want := "answer 2"
					if strings.HasPrefix(demand, "only") {
						want = ""
					}
					if a := c.get(t, "Cache-Control", demand); a.body != want {
						t.Errorf("after Expire: %v", a)
					}
					sleep(t, "1s")
					c.get(t)
					synctest.Wait()
					if a := c.get(t); a.body != "answer 2" || c.o.asked() != 2 {
						t.Errorf("later: %v, with %d requests", a, c.o.asked())
					}
				})
			})
		}
	}
}
