package tiertest

import (
	"sync"
	"testing"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/tier"
)

// ranger returns the tier as a Ranger, or skips the test.
func ranger(t *testing.T, l tier.Local) tier.Ranger {
	t.Helper()
	r, ok := l.(tier.Ranger)
	if !ok {
		t.Skip("the tier is not a tier.Ranger")
	}
	return r
}

// shown returns how often Range shows each entry.
func shown(r tier.Ranger) map[tier.Entry]int {
	all := map[tier.Entry]int{}
	r.Range(func(e tier.Entry) bool {
		all[e]++
		return true
	})
	return all
}

func localRange(t *testing.T, l tier.Local) {
	r := ranger(t, l)
	if n := len(shown(r)); n != 0 {
		t.Errorf("an empty tier shows %d entries", n)
	}
	const keys = 100
	held := make([]*localtest.Entry, keys)
	for i := range held {
		held[i] = &localtest.Entry{Hash: hashOf(i)}
		l.Set(held[i].Hash, held[i], 64)
	}
	l.Delete(held[0].Hash)
	all := shown(r)
	for i, e := range held {
		if _, ok := l.Get(e.Hash); ok != (all[e] > 0) {
			t.Errorf("entry %d: Get finds it: %v, Range shows it %d times", i, ok, all[e])
		}
	}
	calls := 0
	r.Range(func(tier.Entry) bool {
		calls++
		return calls < 3
	})
	if calls != 3 {
		t.Errorf("Range went on for %d entries, want 3: f returned false then", calls)
	}
}

// localRangeInUse has f use the tier, while other goroutines grow it. Range must show the entries
// that stay.
func localRangeInUse(t *testing.T, l tier.Local) {
	r := ranger(t, l)
	const keys, rounds, crowd = 100, 20, 400
	for i := range keys {
		l.Set(hashOf(i), &localtest.Entry{Hash: hashOf(i), Seq: 1}, 1)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for g := range 2 {
		wg.Go(func() {
			for i := range rounds * crowd {
				h := hashOf(1<<20 + g*crowd + i%crowd)
				l.Set(h, &localtest.Entry{Hash: h}, 1)
				if i%3 == 0 {
					l.Delete(h)
				}
			}
		})
	}
	for range rounds {
		seen := map[uint64]bool{}
		r.Range(func(e tier.Entry) bool {
			le := e.(*localtest.Entry)
			if le.Seq == 1 {
				seen[le.Hash] = true
				l.Get(le.Hash)
				l.Set(hashOf(1<<21), &localtest.Entry{Hash: hashOf(1 << 21)}, 1)
			}
			return true
		})
		for i := range keys {
			if _, ok := l.Get(hashOf(i)); ok && !seen[hashOf(i)] {
				t.Fatalf("entry %d is held, and Range did not show it", i)
			}
		}
	}
}
