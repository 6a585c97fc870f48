package local_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/tier/local"
)

func TestTableAgainstMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	table, want := local.NewTable(), map[uint64]int{}
	for i := range 200_000 {
		h := r.Uint64N(300 + uint64(i/100)) // small numbers: 0 is a hash too, and neighbours collide
		switch r.IntN(3) {
		case 0:
			_, was := want[h]
			if got := table.Remove(h); got != was {
				t.Fatalf("step %d: Remove(%d) = %v, want %v", i, h, got, was)
			}
			delete(want, h)
		default:
			table.Put(h, i)
			want[h] = i
		}
		probe := r.Uint64N(2500)
		got, ok := table.Load(probe)
		if w, wok := want[probe]; ok != wok || ok && got != w {
			t.Fatalf("step %d: Load(%d) = %v, %v; want %v, %v", i, probe, got, ok, w, wok)
		}
	}
	if live, cells := table.Size(); live != len(want) || cells > 8*live {
		t.Errorf("Size() = %d in %d cells, want %d in at most eight times as many", live, cells, len(want))
	}
}

// TestTableNeverHidesAResident reads keys that stay while others come and go
// around them, through growth and reuse of cells.
func TestTableNeverHidesAResident(t *testing.T) {
	table := local.NewTable()
	const residents = 50
	for h := range uint64(residents) {
		table.Put(h, h)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for i := uint64(0); ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if e, ok := table.Load(i % residents); !ok || e != i%residents {
					t.Errorf("Load(%d) = %v, %v while it is resident", i%residents, e, ok)
					return
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		h := residents + r.Uint64N(400)
		if r.IntN(2) == 0 {
			table.Put(h, h)
		} else {
			table.Remove(h)
		}
		h = r.Uint64N(residents)
		table.Put(h, h) // in place
	}
	close(done)
	readers.Wait()
}

func TestSieveOrder(t *testing.T) {
	for _, tc := range []struct {
		name   string
		hit    []uint64
		remove []uint64
		want   []uint64
	}{
		{"oldest first", nil, nil, []uint64{1, 2, 3, 4, 5}},
		{"hit ones are passed over once", []uint64{1, 3}, nil, []uint64{2, 4, 1, 3, 5}},
		{"the newest is not taken before another", []uint64{1, 2, 3, 4}, nil, []uint64{1, 2, 3, 4, 5}},
		{"all hit is first in first out", []uint64{1, 2, 3, 4, 5}, nil, []uint64{1, 2, 3, 4, 5}},
		{"removed ones are not found", []uint64{2}, []uint64{1, 3, 5}, []uint64{4, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s local.Sieve
			for h := range uint64(5) {
				s.Add(h + 1)
			}
			for _, h := range tc.hit {
				s.Hit(h)
			}
			for _, h := range tc.remove {
				s.Remove(h)
			}
			var got []uint64
			for range tc.want {
				got = append(got, s.Evict())
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("evicted (-want +got):\n%s", d)
			}
		})
	}
}

// TestSieveHandStays: a new entry does not send the hand back to the tail.
func TestSieveHandStays(t *testing.T) {
	var s local.Sieve
	for h := range uint64(4) {
		s.Add(h + 1)
	}
	s.Hit(1)
	if got := s.Evict(); got != 2 {
		t.Fatalf("Evict() = %d, want 2", got)
	}
	s.Add(5)
	if got := s.Evict(); got != 3 {
		t.Errorf("Evict() = %d, want 3: the hand goes on where it was", got)
	}
}
