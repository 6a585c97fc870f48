package tiertest

import (
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/tier"
)

// localNeverUndone is for engines that queue writes: a late insert of the first value must not
// replace the second.
func localNeverUndone(t *testing.T, l tier.Local) {
	const keys = 200
	newest := make([]*localtest.Entry, keys)
	for i := range keys {
		h := hashOf(i)
		l.Set(h, &localtest.Entry{Hash: h, Seq: 1}, 64)
		newest[i] = &localtest.Entry{Hash: h, Seq: 2}
		l.Set(h, newest[i], 64)
		press(l, i)
	}
	watch(t, func() {
		for _, want := range newest {
			if got, ok := l.Get(want.Hash); ok && got != any(want) {
				t.Fatalf("Get(%#x) = %v, want the newest entry %v or a miss", want.Hash, got, *want)
			}
		}
	})
}

func localDeleteSticks(t *testing.T, l tier.Local) {
	const keys = 200
	for i := range keys {
		h := hashOf(i)
		l.Set(h, &localtest.Entry{Hash: h}, 64)
		press(l, i)
		l.Delete(h)
	}
	watch(t, func() {
		for i := range keys {
			if got, ok := l.Get(hashOf(i)); ok {
				t.Fatalf("Get(%#x) = %v after Delete, want a miss", hashOf(i), got)
			}
		}
	})
}

// press stores entries under hashes that no test reads, so that other entries move through all
// stages of the tier.
func press(l tier.Local, round int) {
	for i := range 20 {
		h := hashOf(1<<20 + round*20 + i)
		l.Set(h, &localtest.Entry{Hash: h}, 1<<10)
	}
}

// localBudget overfills the tier several times. Engines may evict in the background, so the size
// must come down in the end, but may exceed the budget for a while.
func localBudget(t *testing.T, l tier.Local) {
	m, ok := l.(tier.Meter)
	if !ok {
		t.Skip("the tier is not a tier.Meter")
	}
	for i := range 8 * LocalBudget >> 10 {
		h := hashOf(i)
		l.Set(h, &localtest.Entry{Hash: h}, 1<<10)
	}
	eventually(t, func() (string, bool) {
		bytes, entries := m.Usage()
		if bytes <= LocalBudget && bytes >= 0 && entries<<10 == bytes {
			return "", true
		}
		return sprintf("Usage() = %d bytes, %d entries of 1 KiB; want at most %d bytes and the two to agree", bytes, entries, LocalBudget), false
	})
}

func localUsage(t *testing.T, l tier.Local) {
	m, ok := l.(tier.Meter)
	if !ok {
		t.Skip("the tier is not a tier.Meter")
	}
	want := func(bytes, entries int64) {
		t.Helper()
		eventually(t, func() (string, bool) {
			b, n := m.Usage()
			return sprintf("Usage() = %d, %d; want %d, %d", b, n, bytes, entries), b == bytes && n == entries
		})
	}
	want(0, 0)
	for i := range 10 {
		l.Set(hashOf(i), &localtest.Entry{Hash: hashOf(i)}, 100)
	}
	want(1000, 10)
	l.Set(hashOf(0), &localtest.Entry{Hash: hashOf(0)}, 300)
	want(1200, 10)
	l.Delete(hashOf(0))
	want(900, 9)
	l.Set(hashOf(1), &localtest.Entry{Hash: hashOf(1)}, oversize)
	want(800, 8)
}

// localConcurrent gives each goroutine its own keys, on which it must read what it wrote. All
// goroutines also write shared keys, where an entry must at least be of the right hash.
func localConcurrent(t *testing.T, l tier.Local) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				own := &localtest.Entry{Hash: hashOf(1000 + g*50 + i%50), Seq: i}
				l.Set(own.Hash, own, 16)
				if got, ok := l.Get(own.Hash); !ok || got != any(own) {
					t.Errorf("goroutine %d: Get after its own Set = %v, %v; want %v", g, got, ok, *own)
					return
				}
				shared := hashOf(i % 50)
				switch i % 7 {
				case 0:
					l.Delete(shared)
				default:
					l.Set(shared, &localtest.Entry{Hash: shared, Seq: i}, 16)
				}
				if got, ok := l.Get(shared); ok && got.(*localtest.Entry).Hash != shared {
					t.Errorf("Get(%#x) = entry of hash %#x", shared, got.(*localtest.Entry).Hash)
					return
				}
			}
		})
	}
	wg.Wait()
}

func localCloseInUse(t *testing.T, l tier.Local) {
	var wg sync.WaitGroup
	started := make(chan struct{}, 4)
	for g := range 4 {
		wg.Go(func() {
			for i := range 5000 {
				h := hashOf(g*5000 + i)
				l.Set(h, &localtest.Entry{Hash: h}, 64+int64(i%8)*1000)
				l.Get(h)
				l.Delete(hashOf(i))
				if i == 100 {
					started <- struct{}{}
				}
			}
		})
	}
	<-started
	closeLocal(t, l)
	if m, ok := l.(tier.Meter); ok {
		if _, n := m.Usage(); n != 0 {
			t.Errorf("Usage() after Close = %d entries, want 0", n)
		}
	}
	wg.Wait()
	if e, ok := l.Get(hashOf(4999)); ok {
		t.Errorf("Get after Close = %v, true; want a miss", e)
	}
}

// watch repeats check for a while, because the fault that it looks for happens late.
func watch(t *testing.T, check func()) {
	t.Helper()
	end := time.After(50 * time.Millisecond)
	for {
		check()
		select {
		case <-end:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// late is how long a tier may take for what it does in the background.
const late = 5 * time.Second

func eventually(t *testing.T, check func() (what string, ok bool)) {
	t.Helper()
	localtest.Eventually(t, late, check)
}
