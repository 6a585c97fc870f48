package tiertest

import (
	"sync"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/internal/suitetest"
	"github.com/twofold-go/twofold/tier"
)

// shown returns how often Range shows each entry.
func shown(r tier.Ranger) map[tier.Entry]int {
	all := map[tier.Entry]int{}
	r.Range(func(e tier.Entry) bool {
		all[e]++
		return true
	})
	return all
}

func localRange(t *localTest) {
	r := suitetest.Need[tier.Ranger](t, t.l)
	if n := len(shown(r)); n != 0 {
		t.Errorf("an empty tier shows %d entries", n)
	}
	const keys = 100
	held := make([]*localtest.Entry, keys)
	for i := range held {
		held[i], _ = t.set(i, 0, 64)
	}
	t.l.Delete(held[0].Hash)
	all := shown(r)
	for i, e := range held {
		if _, ok := t.l.Get(e.Hash); ok != (all[e] > 0) {
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
func localRangeInUse(t *localTest) {
	r := suitetest.Need[tier.Ranger](t, t.l)
	const keys, rounds, crowd = 100, 20, 400
	for i := range keys {
		t.set(i, 1, 1)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for g := range 2 {
		wg.Go(func() {
			for i := range rounds * crowd {
				e, _ := t.set(1<<20+g*crowd+i%crowd, 0, 1)
				if i%3 == 0 {
					t.l.Delete(e.Hash)
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
				t.l.Get(le.Hash)
				t.set(1<<21, 0, 1)
			}
			return true
		})
		for i := range keys {
			if _, ok := t.l.Get(hashOf(i)); ok && !seen[hashOf(i)] {
				t.Fatalf("entry %d is held, and Range did not show it", i)
			}
		}
	}
}
