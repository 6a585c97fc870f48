package tiertest

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/twofold-go/twofold/internal/testkit/localtest"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/tier"
)

// localEvictPanics has a callback that panics from time to time. The panic may reach the caller.
// The tier must stay intact: each entry is resident or was reported once, Stats matches what the
// tier holds, and no lock stays locked.
func localEvictPanics(t *localTest) {
	d := localtest.Listen(t.l)
	calls := 0
	d.Heard = func() {
		if calls++; calls%41 == 0 {
			panic("Removed")
		}
	}
	try := func(f func()) {
		defer func() { _ = recover() }()
		f()
	}
	var all []*localtest.Entry
	for i := range 8 * LocalBudget >> 10 {
		e := &localtest.Entry{Hash: hashOf(i % (4 * LocalBudget >> 10)), Seq: i} // known, although its Set may panic
		all = append(all, e)
		cost := int64(1 << 10)
		if i%97 == 0 {
			cost = oversize
		}
		try(func() { t.l.Set(e.Hash, e, cost) })
		t.l.Get(hashOf(i / 2)) // hit some entries again
		if i%11 == 0 {
			try(func() { t.l.Delete(hashOf(i / 2)) })
		}
	}
	d.Heard = func() {}
	resident := d.Settle(t.T, t.l, 0, all)
	if s := t.l.Stats(); s.Entries != resident || s.Bytes != resident<<10 {
		t.Errorf("Stats() = %+v; want %d entries of 1 KiB", s, resident)
	}
}

// localRangeInUse has f use the tier, while other goroutines grow it. Range must show the entries
// that stay.
func localRangeInUse(t *localTest) {
	localtest.Mute(t.l)
	const keys, rounds, crowd = 100, 20, 400
	for i := range keys {
		t.set(i, 1, 1)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for g := range 2 {
		wg.Go(func() {
			for i := range rounds * crowd {
				e := t.set(1<<20+g*crowd+i%crowd, 0, 1)
				if i%3 == 0 {
					t.l.Delete(e.Hash)
				}
			}
		})
	}
	for range rounds {
		seen := map[uint64]bool{}
		t.l.Range(func(e any) bool {
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

// localConcurrent gives each goroutine its own keys, on which it must read what it wrote.
func localConcurrent(t *localTest) {
	localtest.Mute(t.l)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				own := t.set(1000+g*50+i%50, i, 16)
				if got, ok := t.l.Get(own.Hash); !ok || got != any(own) {
					t.Errorf("goroutine %d: Get after its own Set = %v, %v; want %v", g, got, ok, *own)
					return
				}
			}
		})
	}
	wg.Wait()
}

// localDeletes has goroutines set, delete and read a few hashes of a full tier. A Get that begins
// after a Delete has returned must not find an entry whose Set had returned before that Delete began.
func localDeletes(t *localTest) {
	const hashes, rounds = 40, 30_000
	localtest.Mute(t.l)
	var clock atomic.Int64
	var deleted [hashes]atomic.Int64 // when a Delete began that has returned
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for seq := range rounds {
				i := r.IntN(hashes)
				switch seq % 4 {
				case 0:
					e := &timed{Entry: localtest.Entry{Hash: hashOf(i), Seq: seq}}
					t.l.Set(e.Hash, e, 512)
					e.set.Store(clock.Add(1))
				case 1:
					begun := clock.Add(1)
					t.l.Delete(hashOf(i))
					raise(&deleted[i], begun)
				case 2:
					since := deleted[i].Load()
					got, ok := t.l.Get(hashOf(i))
					if !ok {
						continue
					}
					if e := got.(*timed); e.set.Load() != 0 && e.set.Load() < since {
						t.Errorf("Get(%#x) = %v after a Delete that began when its Set had returned", e.Hash, e.Entry)
						return
					}
				case 3: // pushes others out
					e := &timed{Entry: localtest.Entry{Hash: hashOf(hashes + r.IntN(3000))}}
					t.l.Set(e.Hash, e, 1024)
				}
			}
		})
	}
	wg.Wait()
}

// timed is an entry that knows when its Set had returned. Zero means not yet.
type timed struct {
	localtest.Entry
	set atomic.Int64
}

// raise sets x to n unless it is higher.
func raise(x *atomic.Int64, n int64) {
	for {
		if old := x.Load(); old >= n || x.CompareAndSwap(old, n) {
			return
		}
	}
}

func localAllocs(t *localTest) {
	if race.Enabled {
		t.Skip("the race detector makes sync.Pool allocate")
	}
	localtest.Allocs(t.T, t.l)
}

// localClosed: Close reports what is there, and a closed tier reports what is Set.
func localClosed(t *localTest) {
	led := localtest.Listen(t.l)
	all := []*localtest.Entry{t.set(1, 0, 8), t.set(2, 0, 8)}
	t.close()
	t.wantMiss(hashOf(1), "after Close")
	all = append(all, t.set(1, 1, 8), t.set(3, 0, 8), t.set(4, 0, oversize))
	t.l.Delete(hashOf(2))
	t.wantMiss(hashOf(1), "after Set on a closed tier")
	for i, e := range all {
		want := localtest.Departure{Reason: tier.Closed, Cost: 8}
		if i == 4 {
			want.Cost = oversize
		}
		if got := led.Of(e); len(got) != 1 || got[0] != want {
			t.Errorf("entry %d was reported as %v, want once as %v", i, got, want)
		}
	}
	if s := t.l.Stats(); s.Bytes != 0 || s.Entries != 0 || s.Used != 0 {
		t.Errorf("Stats() after Close = %+v, want an empty tier", s)
	}
	if e := (&localtest.Entry{}); t.l.Set(0, e, 8) {
		t.Error("Set after Close = true, want false")
	}
}

// localCloseReleases lets only the tier hold an entry.
func localCloseReleases(t *localTest) {
	localtest.Mute(t.l)
	e := t.set(1, 0, 8)
	there := weak.Make(e)
	t.close()
	t.eventually(func() (string, bool) {
		runtime.GC()
		return "a closed tier still holds an entry", there.Value() == nil
	})
	runtime.KeepAlive(t.l)
}

// late is how long a tier may take for what it does in the background.
const late = 5 * time.Second

func (t *localTest) eventually(check func() (what string, ok bool)) {
	t.Helper()
	localtest.Eventually(t.T, late, check)
}
