package localnode_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/localnode"
)

// TestSweepAgainstModel compares the search for ended nodes with a map, while nodes enter, leave,
// change their cells and move their ends.
func TestSweepAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	table, ends := newTable(), map[uint64]localnode.Tick{}
	now := localnode.Tick(1)
	remove := func(n *localnode.Node) (localnode.Tick, bool) {
		end := ends[n.Hash]
		if end == 0 || end > now {
			return end, true
		}
		table.Remove(n.Hash)
		delete(ends, n.Hash)
		return 0, true
	}
	for i := range 100_000 {
		h := r.Uint64N(200 + uint64(i/200))
		switch r.IntN(8) {
		case 0, 1, 2:
			end := now + localnode.Tick(r.Uint32N(400))
			if r.IntN(4) == 0 {
				end = 0
			}
			table.Put(localnode.Of(h, i, 0), end)
			ends[h] = end
		case 3:
			table.Remove(h)
			delete(ends, h)
		case 4:
			if ends[h] != 0 {
				ends[h] += localnode.Tick(r.Uint32N(50)) // the table learns of it when it asks
			}
		case 5:
			now++
		default:
			table.Sweep(now, 1+r.IntN(64), remove)
		}
		if i%1000 != 999 {
			continue
		}
		for range 2 { // the first may finish a round
			table.Sweep(now, table.Cells(), remove)
		}
		ending := 0
		for h, end := range ends {
			if end != 0 && end <= now {
				t.Fatalf("step %d: node %d ended at %d, and is there at %d", i, h, end, now)
			}
			if table.Load(h) == nil {
				t.Fatalf("step %d: node %d has gone before its end %d, at %d", i, h, end, now)
			}
			if end != 0 {
				ending++
			}
		}
		if table.Len() != len(ends) || table.Ending() != ending {
			t.Fatalf("step %d: %d nodes, %d with ends; want %d and %d", i, table.Len(), table.Ending(), len(ends), ending)
		}
	}
}

// A Set does not wait for a sweep that runs, and makes the next one come.
func TestEntriesEnterDuringSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x localnode.Ends
		sweeps := 0
		x.Start(nil, func(any) int64 { return 1 }, func() bool {
			if sweeps++; sweeps == 1 {
				x.Entered(1)
			}
			return false
		})
		x.Entered(1)
		<-time.After(time.Minute)
		synctest.Wait()
		if x.Close(); sweeps != 2 {
			t.Errorf("%d sweeps, want 2", sweeps)
		}
	})
}

// Close waits for a sweep that runs, and no other comes.
func TestCloseWaitsForSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x localnode.Ends
		sweeps, over := 0, false
		x.Start(nil, func(any) int64 { return 1 }, func() bool {
			sweeps++
			<-time.After(time.Second)
			over = true
			return true
		})
		x.Entered(1)
		<-time.After(15 * time.Second)
		synctest.Wait()
		if x.Close(); !over {
			t.Error("Close has returned during a sweep")
		}
		x.Entered(1)
		<-time.After(time.Minute)
		if sweeps != 1 {
			t.Errorf("%d sweeps, want 1", sweeps)
		}
	})
}
