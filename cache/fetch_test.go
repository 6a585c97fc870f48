package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
)

// A local hit without options is found on a shorter way. It has the Result of the long one, which every hit with
// an option takes.
func TestFetchOfHits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, answer, gate := open(t, cache.TiersConfig{}), error(nil), make(chan struct{})
		p := policy.Patch{
			TTL: new(10 * time.Second), Stale: new(20 * time.Second), StaleIfError: new(time.Hour),
			Throttle: new(5 * time.Second), NegativeTTL: new(10 * time.Second),
		}
		loads := 0
		c, err := cache.New(tiers, cache.Config[int, int]{Namespace: "hits", Policy: p, Load: func(context.Context, int) (int, error) {
			if loads++; loads > 1 {
				<-gate
			}
			return loads, answer
		}})
		if err != nil {
			t.Fatal(err)
		}
		same := func(when string, stale bool) {
			t.Helper()
			synctest.Wait()
			short, errShort := c.Fetch(t.Context(), 1, nil)
			here, errHere := c.Fetch(t.Context(), 1, nil, cache.SkipRemote())
			long, errLong := c.Fetch(t.Context(), 1, nil, cache.With(policy.Patch{}))
			if short != long || here != long || !errors.Is(errShort, errLong) || !errors.Is(errHere, errLong) || short.Stale != stale || short.Source != cache.Local {
				t.Errorf("%s: %+v, %v; local %+v, %v; with an option %+v, %v", when, short, errShort, here, errHere, long, errLong)
			}
		}
		_, _ = c.Fetch(t.Context(), 1, nil)
		<-time.After(time.Second)
		same("fresh", false)
		<-time.After(12 * time.Second)
		same("while a refresh runs", true)
		answer = errors.New("down")
		close(gate)
		same("after a refresh has failed", true)
		if err := c.Delete(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		answer = cache.ErrNotFound
		_, _ = c.Fetch(t.Context(), 1, nil)
		<-time.After(time.Second)
		same("absent", false)
	})
}
