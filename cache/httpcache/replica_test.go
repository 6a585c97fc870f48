package httpcache_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// A page that may be of a replica that lags is stored nowhere, and Cache-Status does not say that it is.
func TestPagesOfReplicas(t *testing.T) {
	for name, cfg := range map[string]httpcache.Config{"Shared": {}, "Pages": {Preset: httpcache.Pages}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg.Policy = policy.Patch{ReplicaLag: new(10 * time.Second)}
				s := proxied(t, &counted{header: http.Header{"Cache-Control": {"max-age=3600"}}}, cfg)
				for _, want := range []struct{ after, body, how string }{
					{"0s", "rendering 1", "fwd=uri-miss"}, // the start counts as an invalidation
					{"9s", "rendering 2", "fwd=uri-miss"},
					{"1s", "rendering 3", "fwd=uri-miss;stored"},
				} {
					sleep(t, want.after)
					if got := s.get(t, "/"); got.body != want.body || got.how() != want.how {
						t.Errorf("%v, want %q and %q", got, want.body, want.how)
					}
				}
			})
		})
	}
}
