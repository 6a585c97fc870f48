package local

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier"
)

// TestLargeSetReturns sets the largest possible entry while other goroutines take the room that
// becomes free.
func TestLargeSetReturns(t *testing.T) {
	l := New(Config{MaxBytes: 256 << 20})
	defer l.Close()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			for i := g << 40; !stop.Load(); i++ {
				l.Set(trace.Hash(i), nil, 1000)
			}
		})
	}
	for l.total.Load() < l.max/100*95 {
		runtime.Gosched()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Set(trace.Hash(1<<60), "large", l.largest-Overhead)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("a Set of a fifth of the budget has not returned in a minute")
	}
	stop.Store(true)
	wg.Wait()
	checkAccounts(t, l)
}

// TestLargeEntriesFlushNothing: a few large entries that are used once leave most hot entries in
// place.
func TestLargeEntriesFlushNothing(t *testing.T) {
	l := New(Config{MaxBytes: 16 << 20})
	defer l.Close()
	hot := uint64(l.max * 9 / 10 / 1024)
	for range 4 {
		for k := range hot {
			if _, ok := l.Get(trace.Hash(k)); !ok {
				l.Set(trace.Hash(k), k, 1024-Overhead)
			}
		}
	}
	for i := range uint64(20) {
		l.Set(trace.Hash(1<<40+i), "large", 3<<20)
	}
	stayed := uint64(0)
	l.Range(func(e any) bool {
		if e != "large" {
			stayed++
		}
		return true
	})
	if stayed < hot/2 {
		t.Errorf("%d of %d hot entries stayed, want half at least", stayed, hot)
	}
}

// TestPanicLosesNoSet: Removed panics while a Set takes its room from other shards.
func TestPanicLosesNoSet(t *testing.T) {
	l := New(Config{MaxBytes: 32 << 20})
	defer func() {
		defer func() { _ = recover() }() // Close reports, too
		_ = l.Close()
	}()
	l.Open(tier.Hooks{Removed: func(any, int64, tier.EvictReason) { panic("Removed") }})
	var mine uint64
	for i := uint64(0); l.total.Load()+1<<20 <= l.max; i++ { // fills only one shard
		if localnode.Mix(i)>>l.shardShift != 0 {
			mine = i
			continue
		}
		l.Set(i, i, 1<<20-Overhead)
	}
	func() {
		defer func() { _ = recover() }()
		l.Set(mine, "new", 1<<20)
	}()
	if _, ok := l.Get(mine); !ok {
		t.Error("the Set whose callback panicked had no effect")
	}
	checkAccounts(t, l)
}

// TestLargestBudget checks that no sum overflows with the largest budget.
func TestLargestBudget(t *testing.T) {
	l := New(Config{MaxBytes: math.MaxInt64})
	defer l.Close()
	for i := range uint64(8) {
		l.Set(trace.Hash(i), i, math.MaxInt64/5-Overhead)
	}
	if total, _ := l.Charged(); total < 0 {
		t.Errorf("charged %d", total)
	}
	checkAccounts(t, l)
}
