package localtest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier"
)

// keeps sets entries that fit, from several goroutines, once or twice each. It wants all of them.
func (c Config) keeps(t *testing.T) {
	const keys, cost = 10_000, 1000
	for _, percent := range []int64{30, 60, 95, 99} {
		for _, rounds := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d%% set %d times", percent, rounds), func(t *testing.T) {
				l := c.open(t, keys*(cost+c.Overhead)*100/percent)
				for range rounds {
					Fill(l, keys, cost)
				}
				misses := 0
				for i := range uint64(keys) {
					if e, ok := l.Get(trace.Hash(i)); !ok || e != i {
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

// Fill sets the number i under its hash, for each i below n, from several goroutines.
func Fill(l tier.Local, n uint64, cost int64) {
	inParallel(func(g int) []*Entry {
		for i := uint64(g); i < n; i += workers {
			l.Set(trace.Hash(i), i, cost)
		}
		return nil
	})
}

// budget sets small entries, large ones and both. One goroutine watches the tier while others
// write.
func (c Config) budget(t *testing.T) {
	const maxBytes, keys = 4 << 20, 20_000
	fifth := maxBytes/5 - c.Overhead
	for _, tc := range []struct {
		name string
		cost func(r *rand.Rand) int64
	}{
		{"small", func(*rand.Rand) int64 { return 100 }},
		{"mixed", func(r *rand.Rand) int64 { return 1 << r.IntN(17) }},
		{"a fifth each", func(*rand.Rand) int64 { return fifth }},
		{"rarely a fifth", func(r *rand.Rand) int64 {
			if r.IntN(200) == 0 {
				return fifth
			}
			return 500
		}},
	} {
		for _, deletes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deletes %v", tc.name, deletes), func(t *testing.T) {
				l := c.open(t, maxBytes)
				highest := watch(l)
				inParallel(func(g int) []*Entry {
					r := rand.New(rand.NewPCG(1, uint64(g)))
					for range 10_000 {
						l.Set(r.Uint64N(keys), "v", tc.cost(r))
						l.Get(r.Uint64N(keys))
						if deletes && r.IntN(20) == 0 {
							l.Delete(r.Uint64N(keys))
						}
					}
					return nil
				})
				if got, most := highest(), maxBytes*(100+c.Above)/100; got > most {
					t.Errorf("held %d bytes, want at most %d", got, most)
				}
				c.CheckAccounts(t, l)
				for i := range uint64(keys) {
					l.Delete(i)
				}
				if got, _ := l.Charged(); got != 0 {
					t.Errorf("charged %d when all is deleted, want 0", got)
				}
			})
		}
	}
}

// watch looks at the charge of l until the caller calls highest.
func watch(l Tier) (highest func() int64) {
	var most int64
	var watcher sync.WaitGroup
	done := make(chan struct{})
	watcher.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				total, _ := l.Charged()
				most = max(most, total)
			}
		}
	})
	return func() int64 {
		close(done)
		watcher.Wait()
		return most
	}
}

// CheckAccounts compares the two accounts of a tier at rest: the charge, and the entries that Stats counts.
func (c Config) CheckAccounts(t *testing.T, l Tier) {
	t.Helper()
	total, part := l.Charged()
	s := l.Stats()
	if want := s.Bytes + s.Entries*c.Overhead; total != want || s.Used != want || part < 0 || part > total {
		t.Errorf("charged %d, of which %d in a part; want %d in all by %+v", total, part, want, s)
	}
}

// smallShards sets entries so large that two are more than the part of any shard.
func (c Config) smallShards(t *testing.T) {
	l := c.open(t, 64<<20)
	if s, ok := l.(interface{ Shards() int }); ok && s.Shards() < c.Shards {
		t.Fatalf("Shards() = %d, want %d at least", s.Shards(), c.Shards)
	}
	for i := range uint64(200) {
		h := trace.Hash(i)
		if !l.Set(h, i, 12<<20) {
			t.Fatalf("Set(%d) = false, want true", i)
		}
		if e, ok := l.Get(h); !ok || e != i {
			t.Fatalf("Get right after Set(%d) = %v, %v", i, e, ok)
		}
	}
	c.CheckAccounts(t, l)
}
