package ristretto_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/localtest"
	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/ristretto"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var config = localtest.Config{
	New:      func(maxBytes int64) localtest.Tier { return ristretto.New(ristretto.Config{MaxBytes: maxBytes}) },
	Overhead: ristretto.Overhead,
	Above:    5,
	Shards:   8,
}

func open(t testing.TB, maxBytes int64) *ristretto.Tier {
	t.Helper()
	return localtest.Open(t, ristretto.New(ristretto.Config{MaxBytes: maxBytes}))
}

func hashOf(i int) uint64 { return trace.Hash(uint64(i)) }

func TestConformance(t *testing.T) {
	tiertest.TestLocal(t, func(*testing.T) tier.Local { return config.New(tiertest.LocalBudget) })
}

func TestGuarantees(t *testing.T) { localtest.Test(t, config) }

// TestShape checks the front's limit from an empty tier to a full one, 20/80.
func TestShape(t *testing.T) {
	const keys, cost = 10_000, 1000
	const maxBytes = keys * (cost + ristretto.Overhead)
	l := open(t, maxBytes)
	for i := range 3 * keys {
		before, frontBefore := l.Charged()
		l.Set(hashOf(i), i, cost)
		total, front := l.Charged()
		main := total - front
		// A batch that came back may exceed the limit until the next Set.
		if limit := max(maxBytes/5, maxBytes*3/5-main/2) + maxBytes/100; front > limit {
			t.Fatalf("entry %d: front holds %d, want at most %d with %d beyond it", i, front, limit, main)
		}
		if moved := (main - (before - frontBefore)) / (cost + ristretto.Overhead); moved > 3 && before < maxBytes*9/10 {
			t.Fatalf("entry %d moved %d victims, want at most 3", i, moved)
		}
	}
	total, front := l.Charged()
	if share := float64(front) / float64(total); share < 0.18 || share > 0.23 {
		t.Errorf("a full tier's front is %.2f of it, want 0.20", share)
	}
	if total < maxBytes*97/100 {
		t.Errorf("a full tier holds %d of %d bytes, want at least 97 %%", total, maxBytes)
	}
}
