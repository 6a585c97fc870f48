package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// Frames count whole milliseconds, rounded so that a value lives shorter. The load and the read
// may come at any fraction of a millisecond. No process serves the value as fresh after its TTL,
// or reports too small an age.
func TestFramesRoundDown(t *testing.T) {
	const ttl, step = 10 * time.Millisecond, 100 * time.Microsecond
	for loaded := time.Duration(0); loaded < time.Millisecond; loaded += step {
		for read := 8 * time.Millisecond; read < ttl; read += step {
			synctest.Test(t, func(t *testing.T) {
				src := &source{}
				_, cs := fleet(t, 2, faulty(), cache.TiersConfig{}, thingConfig{Load: src.load, Policy: patch{TTL: new(ttl)}})
				advance(loaded)
				get(t, cs[0], 1)
				advance(read)
				r, err := cs[1].Fetch(t.Context(), 1, nil)
				if err != nil || r.Source == cache.Remote && r.Age < read {
					t.Errorf("loaded at %v, read %v later: age %v, %v", loaded, read, r.Age, err)
				}
				if r.Source == cache.Load && read < ttl-2*time.Millisecond {
					t.Errorf("loaded at %v, read %v later: loaded again, more than 2 ms too early", loaded, read)
				}
				advance(ttl - read)
				if got, err := cs[1].Fetch(t.Context(), 1, nil); err != nil || r.Source == cache.Remote && got.Source == cache.Local {
					t.Errorf("loaded at %v, read %v later: still served after %v, %v", loaded, read, ttl, err)
				}
			})
		}
	}
}
