package tiertest

import (
	"sync"
	"testing"

	"github.com/twofold-go/twofold/tier"
)

// ranger returns the tier as a Ranger, or skips the test.
func ranger(t *testing.T, l tier.Local) tier.Ranger {
	t.Helper()
	r, ok := unwrapLocal(l).(tier.Ranger)
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
	held := make([]*localEntry, keys)
	for i := range held {
		held[i] = &localEntry{hash: spread(i)}
		l.Set(held[i].hash, held[i], 64)
	}
	l.Delete(held[0].hash)
	all := shown(r)
	for i, e := range held {
		if _, ok := l.Get(e.hash); ok != (all[e] > 0) {
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
		l.Set(spread(i), &localEntry{hash: spread(i), seq: 1}, 1)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for g := range 2 {
		wg.Go(func() {
			for i := range rounds * crowd {
				h := spread(1<<20 + g*crowd + i%crowd)
				l.Set(h, &localEntry{hash: h}, 1)
				if i%3 == 0 {
					l.Delete(h)
				}
			}
		})
	}
	for range rounds {
		seen := map[uint64]bool{}
		r.Range(func(e tier.Entry) bool {
			le := e.(*localEntry)
			if le.seq == 1 {
				seen[le.hash] = true
				l.Get(le.hash)
				l.Set(spread(1<<21), &localEntry{hash: spread(1 << 21)}, 1)
			}
			return true
		})
		for i := range keys {
			if _, ok := l.Get(spread(i)); ok && !seen[spread(i)] {
				t.Fatalf("entry %d is held, and Range did not show it", i)
			}
		}
	}
}
