package cache_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/internal/race"

	"github.com/twofold-go/twofold/cache"
)

// row is a value of an ordinary size, which is on the stack a few times.
type row struct {
	ID   int
	Name string
	Tags [2]string
}

// deep calls f with so many bytes of its own on the stack as a caller of ours may have.
//
//go:noinline
func deep(i int, f func() (row, error)) (row, error) {
	var own [400]byte
	own[i] = 1
	r, err := f()
	r.ID *= int(own[i])
	return r, err
}

// Whoever waits for another's load keeps to 4 KiB of stack, its callers' part included: a
// crowd waits by the thousand, and growing to 8 KiB took each of them as long as all else
// that a Get did. They come one after the other: who queues for a lock takes more for a
// moment, and never gives it back.
func TestWaitersStack(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector's frames are larger")
	}
	for name, ctx := range map[string]func(context.Context) context.Context{
		"who can wait for ever": context.WithoutCancel,
		"who may leave":         func(ctx context.Context) context.Context { return ctx },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if each := stackOfWaiters(t, ctx); each > 6<<10 {
					t.Errorf("a waiter takes %d bytes of stack, want 4096 and the runtime's change", each)
				}
			})
		})
	}
}

// stackOfWaiters returns what each of a crowd's callers takes, who all wait for one load.
func stackOfWaiters(t *testing.T, ctx func(context.Context) context.Context) int64 {
	const waiters = 2000
	loaded := make(chan struct{})
	c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, row]{
		Namespace: "rows:v1",
		Load: func(_ context.Context, k int) (row, error) {
			<-loaded
			return row{ID: k}, nil
		},
	})
	runtime.GC() // gives back the stacks of earlier tests; not again below, it would take from those that wait
	before := stackInUse()
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() {
			if v, err := deep(1, func() (row, error) { return c.Get(ctx(t.Context()), 1) }); v.ID != 1 || err != nil {
				t.Errorf("Get = %+v, %v", v, err)
			}
		})
		synctest.Wait() // it waits now
	}
	each := (stackInUse() - before) / waiters
	close(loaded)
	wg.Wait()
	return each
}

// stackInUse returns what the stacks take of all goroutines that there are.
func stackInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.StackInuse) //nolint:gosec // far from the limit
}
