package local

import (
	"math/rand/v2"
	"testing"

	"github.com/twofold-go/twofold/internal/localnode"
)

// TestAccounts runs random operations. From time to time it compares the tier's counters with its
// lists and tables.
func TestAccounts(t *testing.T) {
	for _, maxBytes := range []int64{minBytes, 256 << 10, 4 * shardBytes} {
		seed := rand.Uint64()
		t.Logf("%d bytes, seed %d", maxBytes, seed)
		r := rand.New(rand.NewPCG(seed, 0))
		l := New(Config{MaxBytes: maxBytes})
		for i := range 100_000 {
			h := r.Uint64N(1 << (4 + i/10_000))
			switch r.IntN(10) {
			case 0:
				l.Delete(h)
			case 1, 2, 3:
				l.Set(h, i, int64(r.ExpFloat64()*float64(maxBytes)/100))
			case 4:
				l.Set(h, i, r.Int64N(maxBytes/4))
			default:
				l.Get(h)
			}
			if i%997 == 0 {
				checkAccounts(t, l)
			}
		}
		if t.Failed() {
			return
		}
		l.Close()
	}
}

func checkAccounts(t *testing.T, l *Tier) {
	t.Helper()
	var total, window int64
	for i := range l.shards {
		s := &l.shards[i]
		seen := map[*node]bool{}
		walk := func(list *localnode.List, place localnode.Place) (charge int64) {
			n := 0
			var newer *node
			for at := list.Head; at != nil; newer, at = at, at.Older {
				if n++; seen[at] || at.Place != place || at.Newer != newer || s.table.Load(at.Hash) != at {
					t.Fatalf("a list of shard %d is broken at %+v", i, at)
				}
				seen[at] = true
				charge += chargeOf(at)
			}
			if n != list.Len || list.Tail != newer {
				t.Fatalf("a list of shard %d has %d entries, and says %d", i, n, list.Len)
			}
			return charge
		}
		in := walk(&s.window, inWindow)
		window += in
		total += in + walk(&s.main, inMain)
		if len(seen) != s.table.Len() {
			t.Fatalf("shard %d has %d entries in lists, %d in its table", i, len(seen), s.table.Len())
		}
	}
	if total != l.total.Load() || window != l.window.Load() || total > l.max {
		t.Fatalf("charged %d, in windows %d, of %d; want %d and %d", l.total.Load(), l.window.Load(), l.max, total, window)
	}
}
