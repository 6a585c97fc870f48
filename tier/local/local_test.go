package local_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/localtest"
	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var config = localtest.Config{
	New:      func(maxBytes int64) localtest.Tier { return local.New(local.Config{MaxBytes: maxBytes}) },
	Overhead: local.Overhead,
	Shards:   4,
}

func open(t testing.TB, maxBytes int64) *local.Tier {
	t.Helper()
	return localtest.Open(t, local.New(local.Config{MaxBytes: maxBytes}))
}

func hashOf(i int) uint64 { return trace.Hash(uint64(i)) }

func TestConformance(t *testing.T) {
	tiertest.TestLocal(t, func(*testing.T) tier.Local { return config.New(tiertest.LocalBudget) })
}

func TestGuarantees(t *testing.T) { localtest.Test(t, config) }

// TestFull fills a tier many times over. The tier uses its whole budget, and never more.
func TestFull(t *testing.T) {
	const keys, cost = 10_000, 1000
	const maxBytes = keys * (cost + local.Overhead)
	l := open(t, maxBytes)
	for i := range 3 * keys {
		l.Set(hashOf(i), i, cost)
		if e, ok := l.Get(hashOf(i)); !ok || e != i {
			t.Fatalf("Get right after Set(%d) = %v, %v", i, e, ok)
		}
		if total, _ := l.Charged(); total > maxBytes {
			t.Fatalf("entry %d: charged %d, want at most %d", i, total, maxBytes)
		}
	}
	if total, _ := l.Charged(); total < maxBytes-cost-local.Overhead {
		t.Errorf("a full tier holds %d of %d bytes", total, maxBytes)
	}
	config.CheckAccounts(t, l)
}

// Used counts the overhead of each entry, too.
func TestUsed(t *testing.T) {
	l := local.New(local.Config{MaxBytes: 1 << 20})
	defer l.Close()
	for h := range uint64(5) {
		l.Set(h, h, 1000)
	}
	want := tier.LocalStats{Bytes: 5000, Entries: 5, Used: 5 * (1000 + local.Overhead), MaxBytes: 1 << 20}
	if got := l.Stats(); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
}
