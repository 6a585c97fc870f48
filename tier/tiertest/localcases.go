package tiertest

import (
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/twofold-go/twofold/internal/testkit/localtest"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/internal/testkit/suitetest"
	"github.com/twofold-go/twofold/tier"
)

// localEvictPanics has a callback that panics from time to time. The panic may reach the caller.
// The tier must stay intact: each entry is resident or was reported once, Usage matches what the
// tier holds, and no lock stays locked.
func localEvictPanics(t *localTest) {
	suitetest.Need[tier.EvictNotifier](t, t.l)
	d := localtest.Listen(t.l)
	calls := 0
	d.Heard = func() {
		if calls++; calls%41 == 0 {
			panic("OnEvict")
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
	if m, ok := t.l.(tier.Meter); ok {
		if b, n := m.Usage(); n != resident || b != resident<<10 {
			t.Errorf("Usage() = %d bytes, %d entries; want %d entries of 1 KiB", b, n, resident)
		}
	}
}

// localRangeInUse has f use the tier, while other goroutines grow it. Range must show the entries
// that stay.
func localRangeInUse(t *localTest) {
	r := suitetest.Need[tier.Ranger](t, t.l)
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
		r.Range(func(e any) bool {
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

func localCloseInUse(t *localTest) {
	var wg sync.WaitGroup
	started := make(chan struct{}, 4)
	for g := range 4 {
		wg.Go(func() {
			for i := range 5000 {
				e := t.set(g*5000+i, 0, 64+int64(i%8)*1000)
				t.l.Get(e.Hash)
				t.l.Delete(hashOf(i))
				if i == 100 {
					started <- struct{}{}
				}
			}
		})
	}
	<-started
	t.close()
	if m, ok := t.l.(tier.Meter); ok {
		if _, n := m.Usage(); n != 0 {
			t.Errorf("Usage() after Close = %d entries, want 0", n)
		}
	}
	wg.Wait()
	t.wantMiss(hashOf(4999), "after Close")
}

func localAllocs(t *localTest) {
	if race.Enabled {
		t.Skip("the race detector makes sync.Pool allocate")
	}
	localtest.Allocs(t.T, t.l)
}

func localClosed(t *localTest) {
	e := t.set(1, 0, 8)
	t.close()
	t.wantMiss(e.Hash, "after Close")
	t.set(1, 0, 8) // must not panic
	t.l.Delete(hashOf(2))
	t.wantMiss(e.Hash, "after Set on a closed tier")
}

// localCloseReleases lets only the tier hold an entry.
func localCloseReleases(t *localTest) {
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
