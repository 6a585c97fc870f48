package cache_test

import (
	"context"
	"errors"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// remoteHitAllocations is the number of allocations of a remote hit with a tiertest.Memory: the
// tier's copy of the frame, JSON decoding, the flight, the full key, the item, and the call's
// deadline.
const remoteHitAllocations = 10

// forgetful is a local tier whose last entry the test can delete.
type forgetful struct {
	*local.Tier
	last uint64
}

func (f *forgetful) Set(hash uint64, e any, cost int64) bool {
	f.last = hash
	return f.Tier.Set(hash, e, cost)
}

func TestRemoteHitAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates as well")
	}
	remote, near := tiertest.NewMemory(), &forgetful{Tier: local.New(local.Config{})}
	cfg := cache.Config[int64, profile]{Load: func(_ context.Context, id int64) (profile, error) { return profileOf(id), nil }}
	get(t, with(t, open(t, cache.TiersConfig{Remote: remote}), cfg), 1)
	cfg.Load = func(context.Context, int64) (profile, error) {
		return profile{}, errors.New("the value is in the remote tier")
	}
	tiers := open(t, cache.TiersConfig{Remote: remote, Local: near})
	c := with(t, tiers, cfg)
	ctx := t.Context()
	const n = 1000
	allocs := testing.AllocsPerRun(n, func() {
		if p, err := c.Get(ctx, 1); err != nil || p != profileOf(1) {
			t.Fatal(p, err)
		}
		near.Delete(near.last)
	})
	if hits := total(tiers).RemoteHits; hits != n+1 {
		t.Errorf("%d remote hits, want %d", hits, n+1)
	}
	if allocs > remoteHitAllocations {
		t.Errorf("a remote hit allocates %v times, want at most %d", allocs, remoteHitAllocations)
	}
}
