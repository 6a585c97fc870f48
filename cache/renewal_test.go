package cache_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// slowRenewals is a remote tier whose renewals of claims wait until the fill has failed.
type slowRenewals struct {
	tier.Remote
	filled   chan struct{}
	failed   atomic.Bool // a fill
	renewals atomic.Int64
}

func (s *slowRenewals) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	if claims[0].Seen == claims[0].Nonce {
		s.renewals.Add(1)
		<-s.filled
	}
	return s.Remote.Claim(ctx, keys, claims, answers)
}

func (s *slowRenewals) Fill(context.Context, []string, []tier.Fill, []bool) error {
	if s.failed.CompareAndSwap(false, true) {
		close(s.filled)
	}
	return errDown
}

// A renewal is under way when its load returns, and the fill fails. The claim then ends with its lease: nobody renews it any more, and
// another process loads.
func TestNoRenewalAfterTheLoad(t *testing.T) {
	bubble(t, "slow", func(t *testing.T) {
		mem := tiertest.NewMemory()
		slow := &slowRenewals{Remote: plainRemote{mem}, filled: make(chan struct{})}
		tiers, err := cache.Open(cache.TiersConfig{Remote: slow, Policies: remoteTimeout(time.Minute)})
		must(t, err)
		defer func() { _ = tiers.Close(t.Context()) }() // it cannot give the claim back
		first := with(t, tiers, cache.Config[int, string]{
			Load: func(ctx context.Context, _ int) (string, error) { return "first", nap(ctx, 1500*time.Millisecond) },
		})
		other := with(t, open(t, cache.TiersConfig{Remote: plainRemote{mem}, Policies: remoteTimeout(time.Minute)}), cache.Config[int, string]{
			Load: func(context.Context, int) (string, error) { return "other", nil },
		})
		equal(t, get(t, first, 1), "first", "the load whose fill fails")
		start := time.Now()
		equal(t, get(t, other, 1), "other", "another process")
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("another process waited for %v, want the rest of ClaimTTL, 3s", took)
		}
		if n := slow.renewals.Load(); n != 1 {
			t.Errorf("%d renewals, want the one that was under way", n)
		}
	})
}

// A GetMany asks for a key that is being refreshed, and for a slow one. The refresh stores nothing, and its value is the answer: the
// GetMany has waited for it all the time.
func TestGetManyWaitsForARefresh(t *testing.T) {
	bubble(t, "nothing stored", func(t *testing.T) {
		var loads atomic.Int64
		c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory(), Policies: remoteTimeout(time.Minute)}), cache.Config[string, string]{
			Load: func(ctx context.Context, k string) (string, error) {
				if k == "slow" {
					return k, nap(ctx, 3*time.Second)
				}
				loads.Add(1)
				cache.Filling(ctx).NoStore()
				return k, nap(ctx, 2*time.Second)
			},
		})
		refreshed := make(chan error, 1)
		go func() { refreshed <- c.Refresh(t.Context(), "k") }()
		advance(time.Second / 2)
		start := time.Now()
		got, err := c.GetMany(t.Context(), []string{"slow", "k"})
		must(t, err)
		must(t, <-refreshed)
		if took := time.Since(start); got["k"] != "k" || !strings.HasPrefix(took.String(), "3s") || loads.Load() != 1 {
			t.Errorf("GetMany = %v after %v with %d loads of k, want both after 3s with one", got, took, loads.Load())
		}
	})
}
