package localnode_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/internal/localnode"
)

// table is a Table of plain values.
type table struct{ localnode.Table }

func newTable() *table {
	t := new(table)
	t.Reset()
	return t
}

func (t *table) put(hash uint64, e any) { t.Put(localnode.Of(hash, e, 0), 0) }

func (t *table) load(hash uint64) (any, bool) {
	n := t.Load(hash)
	if n == nil {
		return nil, false
	}
	return n.Entry(), true
}

func TestTableAgainstMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	table, want := newTable(), map[uint64]int{}
	for i := range 200_000 {
		h := r.Uint64N(300 + uint64(i/100)) // small numbers: 0 is a hash too, and neighbours collide
		switch r.IntN(3) {
		case 0:
			_, was := want[h]
			if got := table.Remove(h) != nil; got != was {
				t.Fatalf("step %d: Remove(%d) = %v, want %v", i, h, got, was)
			}
			delete(want, h)
		default:
			table.put(h, i)
			want[h] = i
		}
		probe := r.Uint64N(2500)
		got, ok := table.load(probe)
		if w, wok := want[probe]; ok != wok || ok && got != w {
			t.Fatalf("step %d: Load(%d) = %v, %v; want %v, %v", i, probe, got, ok, w, wok)
		}
	}
	if live, cells := table.Len(), table.Cells(); live != len(want) || cells > 8*live {
		t.Errorf("Len() = %d in %d cells, want %d in at most eight times as many", live, cells, len(want))
	}
}

// TestTableNeverHidesAResident reads keys that stay while other keys come and go, through growth
// and reuse of cells.
func TestTableNeverHidesAResident(t *testing.T) {
	table := newTable()
	const residents = 50
	for h := range uint64(residents) {
		table.put(h, h)
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
				if e, ok := table.load(i % residents); !ok || e != i%residents {
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
			table.put(h, h)
		} else {
			table.Remove(h)
		}
		h = r.Uint64N(residents)
		table.put(h, h) // in place
	}
	close(done)
	readers.Wait()
}
