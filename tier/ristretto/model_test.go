package ristretto_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/ristretto"
)

// stored is the distinct entry of one Set.
type stored struct {
	hash uint64
	seq  int
}

// ledger counts each entry's departures. Every goroutine reports into it.
type ledger struct {
	mu   sync.Mutex
	left map[*stored]int
}

func (l *ledger) note(e tier.Entry, _ int64, _ tier.EvictReason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left[e.(*stored)]++
}

func (l *ledger) of(e *stored) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left[e]
}

// TestModel runs random operations from several goroutines. Each uses its own hashes and its own
// map. The tier is small enough that all stages are busy. A Get returns the newest entry, or
// nothing if that entry was reported. At the end each entry is either resident or was reported
// once.
func TestModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, tc := range []struct {
		name     string
		maxBytes int64
		cost     int64
	}{
		{"one shard", 128 << 10, 400},
		{"one shard, large entries", 128 << 10, 26 << 10},
		{"several shards", 8 << 20, 64 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := open(t, tc.maxBytes)
			led := &ledger{left: map[*stored]int{}}
			l.OnEvict(led.note)
			const workers = 4
			var wg sync.WaitGroup
			all := make([][]*stored, workers)
			for g := range workers {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(g)))
					all[g] = play(t, l, led, r, g, tc.cost)
				})
			}
			wg.Wait()
			for g := range workers {
				for _, e := range all[g] {
					got, ok := l.Get(e.hash)
					resident := ok && got == any(e)
					if n := led.of(e); n > 1 || resident == (n == 1) {
						t.Errorf("entry %v: resident %v, reported %d times", *e, resident, n)
					}
				}
			}
			agree(t, l)
		})
	}
}

// play runs the operations of one goroutine.
func play(t *testing.T, l *ristretto.Tier, led *ledger, r *rand.Rand, g int, maxCost int64) (all []*stored) {
	newest := map[uint64]*stored{}
	for seq := range 8000 {
		k := r.Uint64N(150)
		if r.IntN(3) == 0 {
			k += r.Uint64N(2000) // a long tail, to push others out
		}
		h := hashOf(int(k)*16 + g)
		switch op := r.IntN(10); {
		case op < 4:
			e := &stored{h, seq}
			all = append(all, e)
			if l.Set(h, e, r.Int64N(maxCost)) {
				newest[h] = e
			} else {
				delete(newest, h)
			}
		case op < 5:
			l.Delete(h)
			delete(newest, h)
		default:
			want := newest[h]
			got, ok := l.Get(h)
			if ok && got != any(want) {
				t.Errorf("goroutine %d step %d: Get = %v, want %v or a miss", g, seq, got, want)
			}
			if !ok && want != nil && led.of(want) == 0 && stillMissing(l, led, want) {
				t.Errorf("goroutine %d step %d: Get missed %v, which was never reported", g, seq, *want)
			}
		}
	}
	return all
}

// stillMissing waits until the goroutine that removed e reports it. Between the two, that
// goroutine holds no lock that this one could check.
func stillMissing(l *ristretto.Tier, led *ledger, e *stored) bool {
	l.Drain() // an eviction is reported before the drain ends
	_, ok := l.Get(e.hash)
	return !ok && led.of(e) == 0
}

// TestSharedHashes lets goroutines compete for a few hashes. A Get returns an entry of the hash,
// and the accounts agree afterwards.
func TestSharedHashes(t *testing.T) {
	l := open(t, 64<<10)
	led := &ledger{left: map[*stored]int{}}
	l.OnEvict(led.note)
	var wg sync.WaitGroup
	all := make([][]*stored, 4)
	for g := range all {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for seq := range 10_000 {
				h := hashOf(r.IntN(40))
				if seq%3 == 0 {
					h = hashOf(r.IntN(1000))
				}
				e := &stored{h, seq}
				all[g] = append(all[g], e)
				l.Set(h, e, r.Int64N(4000))
				if seq%7 == 0 {
					l.Delete(hashOf(r.IntN(40)))
				}
				if got, ok := l.Get(h); ok && got.(*stored).hash != h {
					t.Errorf("Get(%#x) = entry of %#x", h, got.(*stored).hash)
				}
			}
		})
	}
	wg.Wait()
	for g := range all {
		for _, e := range all[g] {
			got, ok := l.Get(e.hash)
			if resident := ok && got == any(e); resident == (led.of(e) == 1) {
				t.Errorf("entry %v: resident %v, reported %d times", *e, resident, led.of(e))
			}
		}
	}
	agree(t, l)
}
