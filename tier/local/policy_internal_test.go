package local

import (
	"math/rand/v2"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/race"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier"
)

// TestWorthCountsBytes: entries of many sizes are requested equally often. The small ones stay,
// because more of them fit.
func TestWorthCountsBytes(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine, and long")
	}
	l := New(Config{MaxBytes: 1 << 20})
	defer l.Close()
	cost := func(k uint64) int64 { return 64 << (k % 10) }
	r := rand.New(rand.NewPCG(1, 1))
	hits, byKeys := 0, [10]int{}
	for range 400_000 {
		k := r.Uint64N(2000)
		h := trace.Hash(k)
		if _, ok := l.Get(h); ok {
			hits++
			byKeys[k%10]++
		} else {
			l.Set(h, k, cost(k))
		}
	}
	t.Logf("%.2f of all, by sizes %v", float64(hits)/400_000, byKeys)
	if byKeys[0] < 5*byKeys[9] || hits < 70_000 {
		t.Errorf("%d hits, by sizes %v, want a sixth of all, and those of the small ones far ahead", hits, byKeys)
	}
}

// TestLargeAmongSmall: a large entry that is requested often stays among small ones that are
// requested once.
func TestLargeAmongSmall(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine, and long")
	}
	l := New(Config{MaxBytes: 1 << 20})
	defer l.Close()
	hits := 0
	for i := range uint64(200_000) {
		l.Set(trace.Hash(i+1), i, 100)
		if i%10 == 0 {
			if _, ok := l.Get(0); ok {
				hits++
			} else {
				l.Set(0, "large", 30_000)
			}
		}
	}
	if hits < 18_000 {
		t.Errorf("%d of 20,000 calls hit the large entry, want nearly all", hits)
	}
}

// TestColliders: keys that the sketch takes for a hot key cannot keep another key out forever.
func TestColliders(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine, and long")
	}
	l := New(Config{MaxBytes: minBytes})
	defer l.Close()
	s := &l.shards[0]
	for i := range uint64(100) {
		l.Set(trace.Hash(i), i, 1000-Overhead)
		for range 10 {
			l.Get(trace.Hash(i))
		}
	}
	for i, w := range s.sketch.words {
		s.sketch.words[i] = w | ^uint64(0) // every resident entry looks as hot as possible
	}
	before := map[any]bool{}
	l.Range(func(e any) bool { before[e] = true; return true })
	changed := false
	for i := uint64(1000); i < 6000 && !changed; i++ {
		l.Set(trace.Hash(i), i, 1000-Overhead)
		if s.sketch.estimate(0) < most { // it has aged
			for j := range s.sketch.words {
				s.sketch.words[j] = ^uint64(0)
			}
		}
		stayed := 0
		l.Range(func(e any) bool {
			if before[e] {
				stayed++
			}
			return true
		})
		changed = stayed < len(before)*3/4
	}
	if !changed {
		t.Error("the resident entries stayed, however many new ones came")
	}
}

// TestReplacedKeepsItsRank: a Set over an entry of main stays in main.
func TestReplacedKeepsItsRank(t *testing.T) {
	l := New(Config{MaxBytes: 64 << 10})
	defer l.Close()
	l.Set(1, "old", 100)
	for i := range uint64(100) {
		l.Set(trace.Hash(i+2), i, 100)
	}
	n := l.shards[0].table.Load(1)
	if n == nil || n.Place != inMain {
		t.Fatalf("the entry is %v, want one in main", n)
	}
	l.Get(1)
	l.Set(1, "new", 200)
	if n := l.shards[0].table.Load(1); n == nil || n.Place != inMain || n.Seen.Load()&hitsMask == 0 || n.Entry() != "new" {
		t.Errorf("the new entry is %+v, want it in main with its hits", n)
	}
}

// TestEachVictimOnce: in a contest for much room, the hand may come to the same entry of a small
// main part again, because all others were hit. The entry is evicted once.
func TestEachVictimOnce(t *testing.T) {
	l := New(Config{MaxBytes: 64 << 10})
	defer l.Close()
	left := map[any]int{}
	l.Open(tier.Hooks{Removed: func(e any, _ int64, _ tier.EvictReason) { left[e]++ }})
	s := &l.shards[0]
	var out departures
	for h := range uint64(4) {
		if l.Set(h, h, 100); h > 0 {
			for range hitsMask {
				l.Get(h)
			}
		}
	}
	for s.window.Len > 0 {
		s.promote(s.window.Tail)
	}
	for h := range uint64(4) {
		if h > 0 {
			s.table.Load(h).Seen.Store(hitsMask)
		}
	}
	l.Set(10, "large", 600)
	for range most {
		s.sketch.add(localnode.Mix(10))
	}
	var have int64
	s.contest(s.window.Tail, &out, &have)
	l.total.Add(-have)
	l.tell(&out)
	st := l.Stats()
	if want := st.Bytes + st.Entries*Overhead; int64(s.main.Len) != st.Entries || l.total.Load() != want {
		t.Errorf("%d entries in main, %d in the table; %d charged, want %d", s.main.Len, st.Entries, l.total.Load(), want)
	}
	for e, n := range left {
		if n != 1 {
			t.Errorf("%v left %d times", e, n)
		}
	}
}
