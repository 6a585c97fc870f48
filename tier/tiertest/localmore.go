package tiertest

import (
	"fmt"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/internal/suitetest"
	"github.com/twofold-go/twofold/tier"
)

// localNeverUndone is for engines that queue writes: a late insert of the first value must not
// replace the second.
func localNeverUndone(t *localTest) {
	newest := make([]*localtest.Entry, 200)
	for i := range newest {
		t.set(i, 1, 64)
		newest[i], _ = t.set(i, 2, 64)
		t.press(i)
	}
	watch(func() {
		for _, want := range newest {
			if got, ok := t.l.Get(want.Hash); ok && got != any(want) {
				t.Fatalf("Get(%#x) = %v, want the newest entry %v or a miss", want.Hash, got, *want)
			}
		}
	})
}

func localDeleteSticks(t *localTest) {
	const keys = 200
	for i := range keys {
		e, _ := t.set(i, 0, 64)
		t.press(i)
		t.l.Delete(e.Hash)
	}
	watch(func() {
		for i := range keys {
			t.wantMiss(hashOf(i), "after Delete")
		}
	})
}

// press stores entries under hashes that no test reads, so other entries move through all
// stages of the tier.
func (t *localTest) press(round int) {
	for i := range 20 {
		t.set(1<<20+round*20+i, 0, 1<<10)
	}
}

// localBudget overfills the tier several times. Engines may evict in the background, so the size
// must come down in the end, but may exceed the budget for a while.
func localBudget(t *localTest) {
	m := suitetest.Need[tier.Meter](t, t.l)
	for i := range 8 * LocalBudget >> 10 {
		t.set(i, 0, 1<<10)
	}
	t.eventually(func() (string, bool) {
		bytes, entries := m.Usage()
		return fmt.Sprintf("Usage() = %d bytes, %d entries of 1 KiB; want at most %d bytes and the two to agree", bytes, entries, LocalBudget),
			bytes <= LocalBudget && bytes >= 0 && entries<<10 == bytes
	})
}

func localUsage(t *localTest) {
	m := suitetest.Need[tier.Meter](t, t.l)
	want := func(bytes, entries int64) {
		t.Helper()
		t.eventually(func() (string, bool) {
			b, n := m.Usage()
			return fmt.Sprintf("Usage() = %d, %d; want %d, %d", b, n, bytes, entries), b == bytes && n == entries
		})
	}
	want(0, 0)
	for i := range 10 {
		t.set(i, 0, 100)
	}
	want(1000, 10)
	t.set(0, 0, 300)
	want(1200, 10)
	t.l.Delete(hashOf(0))
	want(900, 9)
	t.set(1, 0, oversize)
	want(800, 8)
}

// localConcurrent gives each goroutine its own keys, on which it must read what it wrote. All
// goroutines also write shared keys, where an entry must at least be of the right hash.
func localConcurrent(t *localTest) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				own, _ := t.set(1000+g*50+i%50, i, 16)
				if got, ok := t.l.Get(own.Hash); !ok || got != any(own) {
					t.Errorf("goroutine %d: Get after its own Set = %v, %v; want %v", g, got, ok, *own)
					return
				}
				shared := hashOf(i % 50)
				if i%7 == 0 {
					t.l.Delete(shared)
				} else {
					t.set(i%50, i, 16)
				}
				if got, ok := t.l.Get(shared); ok && got.(*localtest.Entry).Hash != shared {
					t.Errorf("Get(%#x) = entry of hash %#x", shared, got.(*localtest.Entry).Hash)
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
				e, _ := t.set(g*5000+i, 0, 64+int64(i%8)*1000)
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

// watch repeats check for a while, because the fault that it looks for happens late.
func watch(check func()) {
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); <-time.After(time.Millisecond) {
		check()
	}
}

// late is how long a tier may take for what it does in the background.
const late = 5 * time.Second

func (t *localTest) eventually(check func() (what string, ok bool)) {
	t.Helper()
	localtest.Eventually(t.T, late, check)
}
