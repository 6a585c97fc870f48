package ristretto_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/tier/ristretto"
)

// TestKeepsWhatFits checks guarantee 3, also when several goroutines set the entries, and when
// each is set twice.
func TestKeepsWhatFits(t *testing.T) {
	const keys, cost = 10_000, 1000
	for _, percent := range []int64{30, 60, 95, 99} {
		for _, rounds := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d%% set %d times", percent, rounds), func(t *testing.T) {
				l := open(t, keys*(cost+ristretto.Overhead)*100/percent)
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

func fill(l *ristretto.Tier, keys int, cost int64) {
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
		{"a fifth each", func(*rand.Rand) int64 { return maxBytes/5 - ristretto.Overhead }},
		{"rarely a fifth", func(r *rand.Rand) int64 {
			if r.IntN(200) == 0 {
				return maxBytes/5 - ristretto.Overhead
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

func watchBudget(l *ristretto.Tier, highest *atomic.Int64, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
			total, _ := l.Charged()
			highest.Store(max(highest.Load(), total))
		}
	}
}

// agree compares the two accounts of a tier at rest: the reserved charge and the entries in the
// tables.
func agree(t *testing.T, l *ristretto.Tier) {
	t.Helper()
	total, front := l.Charged()
	bytes, entries := l.Usage()
	if want := bytes + entries*ristretto.Overhead; total != want || front < 0 || front > total {
		t.Errorf("charged %d, in the front %d; want %d in all by Usage", total, front, want)
	}
}

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

func TestSmallShardsStillEvict(t *testing.T) {
	l := open(t, 64<<20) // 32 shards; 12 MiB is more than any shard's part
	if l.Shards() < 8 {
		t.Fatalf("Shards() = %d, want several", l.Shards())
	}
	for i := range 200 {
		if !l.Set(hashOf(i), i, 12<<20) {
			t.Fatalf("Set(%d) = false, want true", i)
		}
		if e, ok := l.Get(hashOf(i)); !ok || e != i {
			t.Fatalf("Get right after Set(%d) = %v, %v", i, e, ok)
		}
	}
	agree(t, l)
}
