package cache_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Without a log, Expire of many keys takes three round trips, and not three for each key. A key
// whose node fails does not stop the others.
func TestExpireOfManyKeysTakesThreeRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, trip = 500, 10 * time.Millisecond
		wire := tiertest.NewFaulty(tiertest.NewMemory())
		src := &source{}
		tiers, c := fleet(t, 2, wire, cache.TiersConfig{}, thingConfig{Load: src.load, Policy: patch{Stale: new(time.Hour)}})
		var keys []int
		var scopes []invalidate.Scope
		for k := range n {
			keys, scopes = append(keys, k), append(scopes, keyScope(t, k))
		}
		if _, err := c[0].GetMany(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
		down := errors.New("the node hangs")
		wire.FailKeys(down, keyScope(t, 7).Text())
		wire.Delay(trip)
		begun := time.Now()
		if err := tiers[0].Expire(t.Context(), scopes...); !errors.Is(err, down) {
			t.Errorf("Expire = %v, want the error of the failing key", err)
		}
		if took := time.Since(begun); took > 4*trip {
			t.Errorf("Expire of %d keys took %v, want about three round trips of %v", n, took, trip)
		}
		wire.Heal()
		wire.FailKeys(nil, keyScope(t, 7).Text())
		for k := range n {
			r, err := c[1].Fetch(t.Context(), k, nil)
			if err != nil || r.Stale != (k != 7) {
				t.Errorf("key %d in another process: stale %v, %v; want the others stale, and not 7", k, r.Stale, err)
			}
		}
	})
}
