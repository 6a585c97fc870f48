package local_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/tier/local"
)

// TestKeepsWhatFits checks guarantee 3, also when several goroutines set the entries, and when
// each is set twice.
func TestKeepsWhatFits(t *testing.T) {
	const keys, cost = 10_000, 1000
	for _, percent := range []int64{30, 60, 95, 99} {
		for _, rounds := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d%% set %d times", percent, rounds), func(t *testing.T) {
				l := open(t, keys*(cost+local.Overhead)*100/percent)
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

func fill(l *local.Tier, keys int, cost int64) {
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

// TestBudgetHolds checks guarantee 2, to the byte, for small entries, large ones and both. One
// goroutine watches while four write.
func TestBudgetHolds(t *testing.T) {
	const maxBytes = 4 << 20
	for _, tc := range []struct {
		name string
		cost func(r *rand.Rand) int64
	}{
		{"small", func(*rand.Rand) int64 { return 100 }},
		{"mixed", func(r *rand.Rand) int64 { return 1 << r.IntN(17) }},
		{"a fifth each", func(*rand.Rand) int64 { return maxBytes/5 - local.Overhead }},
		{"rarely a fifth", func(r *rand.Rand) int64 {
			if r.IntN(200) == 0 {
				return maxBytes/5 - local.Overhead
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
			if got, most := highest.Load(), int64(maxBytes); got > most {
				t.Errorf("held %d bytes, want at most %d", got, most)
			}
			agree(t, l)
		})
	}
}

func watchBudget(l *local.Tier, highest *atomic.Int64, done chan struct{}) {
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
func agree(t *testing.T, l *local.Tier) {
	t.Helper()
	total, window := l.Charged()
	bytes, entries := l.Usage()
	if want := bytes + entries*local.Overhead; total != want || window < 0 || window > total {
		t.Errorf("charged %d, in windows %d; want %d in all by Usage", total, window, want)
	}
}

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
	agree(t, l)
}

func TestSmallShardsStillEvict(t *testing.T) {
	l := open(t, 64<<20) // 4 shards; two entries are more than any shard's part
	if l.Shards() < 4 {
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
