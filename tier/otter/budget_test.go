package otter_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/otter"
)

// TestBudgetHolds checks guarantee 2 for small entries, large ones and both. One goroutine
// watches while four write.
func TestBudgetHolds(t *testing.T) {
	const maxBytes = 4 << 20
	for _, tc := range []struct {
		name string
		cost func(r *rand.Rand) int64
	}{
		{"small", func(*rand.Rand) int64 { return 100 }},
		{"mixed", func(r *rand.Rand) int64 { return 1 << r.IntN(17) }},
		{"a fifth each", func(*rand.Rand) int64 { return maxBytes/5 - otter.Overhead }},
		{"rarely a fifth", func(r *rand.Rand) int64 {
			if r.IntN(200) == 0 {
				return maxBytes/5 - otter.Overhead
			}
			return 500
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := open(t, maxBytes)
			var highest atomic.Int64
			done := make(chan struct{})
			var watcher, writers sync.WaitGroup
			watcher.Go(func() { watchBudget(l, &highest, done) })
			for g := range 4 {
				writers.Go(func() {
					r := rand.New(rand.NewPCG(1, uint64(g)))
					for range 10_000 {
						l.Set(r.Uint64N(20_000), "v", tc.cost(r))
						l.Get(r.Uint64N(20_000))
						if r.IntN(20) == 0 {
							l.Delete(r.Uint64N(20_000))
						}
					}
				})
			}
			writers.Wait()
			close(done)
			watcher.Wait()
			if got, most := highest.Load(), int64(maxBytes+maxBytes/20); got > most {
				t.Errorf("held %d bytes, want at most %d", got, most)
			}
			agree(t, l)
		})
	}
}

func watchBudget(l *otter.Tier, highest *atomic.Int64, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
			highest.Store(max(highest.Load(), l.Charged()))
		}
	}
}

// agree compares the two accounts of a tier at rest: the charge and the entries in otter's table.
func agree(t *testing.T, l *otter.Tier) {
	t.Helper()
	bytes, entries := l.Usage()
	if got, want := l.Charged(), bytes+entries*otter.Overhead; got != want {
		t.Errorf("charged %d, want %d by Usage", got, want)
	}
	for i := range 20_000 {
		l.Delete(uint64(i))
	}
	if got := l.Charged(); got != 0 {
		t.Errorf("charged %d when all is deleted, want 0", got)
	}
}

// TestKeepsWhatFits checks guarantee 3, also when several goroutines set the entries, and when
// each is set twice.
func TestKeepsWhatFits(t *testing.T) {
	const keys, cost = 10_000, 1000
	for _, percent := range []int64{30, 95, 99} {
		for _, rounds := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d%% set %d times", percent, rounds), func(t *testing.T) {
				l := open(t, keys*(cost+otter.Overhead)*100/percent)
				for range rounds {
					fill(l, keys, cost)
				}
				misses := 0
				for i := range keys {
					if e, ok := l.Get(hashOf(i)); !ok || e != i {
						misses++
					}
				}
				if misses > 0 {
					t.Errorf("%d of %d entries that fit are gone", misses, keys)
				}
			})
		}
	}
}

func fill(l tier.Local, keys int, cost int64) {
	var wg sync.WaitGroup
	const workers = 4
	for g := range workers {
		wg.Go(func() {
			for i := g; i < keys; i += workers {
				l.Set(hashOf(i), i, cost)
			}
		})
	}
	wg.Wait()
}

// TestVisibleWhenFull checks guarantee 1 where otter alone would refuse: a tier full of entries
// that were hit more often, and a new entry as large as otter's window or larger. A Get does not
// evict either, so the entry stays until the next Set.
func TestVisibleWhenFull(t *testing.T) {
	const maxBytes = 4 << 20
	keys := trace.Hashes(trace.Zipf(1, 10_000, 1<<16))
	for _, cost := range []int64{1 << 10, 10 << 10, 100 << 10, maxBytes/5 - otter.Overhead} {
		t.Run(fmt.Sprintf("cost %d", cost), func(t *testing.T) {
			l := open(t, maxBytes)
			for i := range 1000 {
				for _, h := range keys[i*64 : (i+1)*64] {
					if _, ok := l.Get(h); !ok {
						l.Set(h, h, 1000)
					}
				}
				h := hashOf(1<<40 + i)
				if !l.Set(h, i, cost) {
					t.Fatalf("Set %d = false, want true", i)
				}
				for range 100 {
					if e, ok := l.Get(h); !ok || e != i {
						t.Fatalf("Get right after Set %d = %v, %v", i, e, ok)
					}
				}
			}
		})
	}
}

// TestDeletesAlone checks that deletions do the maintenance that a Set would do: each leaves work
// for otter, and no Set follows.
func TestDeletesAlone(t *testing.T) {
	l := open(t, 16<<20)
	fill(l, 10_000, 1000)
	var gone int
	l.OnEvict(func(_ tier.Entry, _ int64, r tier.EvictReason) {
		if r == tier.Deleted {
			gone++
		}
	})
	for i := range 10_000 {
		l.Delete(hashOf(i))
	}
	if b, n := l.Usage(); gone != 10_000 || b != 0 || n != 0 {
		t.Errorf("%d reported, Usage() = %d, %d; want 10000 and 0, 0", gone, b, n)
	}
}
