package cache_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/race"
)

// row is a value of ordinary size. The stack of a read has a few copies of it.
type row struct {
	ID   int
	Name string
	Tags [2]string
}

// deep calls f with as many bytes on the stack as a caller of the cache may have.
//
//go:noinline
func deep(i int, f func() (row, error)) (row, error) {
	var own [400]byte
	own[i] = 1
	r, err := f()
	r.ID *= int(own[i])
	return r, err
}

// A caller that waits for another's load needs at most 4 KiB of stack, its own callers included.
// Thousands may wait at once, and growing the stack to 8 KiB doubled the time of a Get. The test
// starts the waiters one after the other: a goroutine that queues for a lock grows its stack and
// never shrinks it.
func TestWaitersStack(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector's frames are larger")
	}
	for name, ctx := range map[string]func(context.Context) context.Context{
		"who can wait for ever": context.WithoutCancel,
		"who may leave":         func(ctx context.Context) context.Context { return ctx },
	} {
		bubble(t, name, func(t *testing.T) {
			if each := stackOfWaiters(t, ctx); each > 6<<10 {
				t.Errorf("a waiter takes %d bytes of stack, want at most 6144: 4096 and what the runtime adds", each)
			}
		})
	}
}

// stackOfWaiters returns the stack bytes per caller of a crowd that waits for one load.
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
	runtime.GC() // frees the stacks of earlier tests; a later GC would shrink the stacks of the waiters
	before := stackInUse()
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() {
			if v, err := deep(1, func() (row, error) { return c.Get(ctx(t.Context()), 1) }); v.ID != 1 || err != nil {
				t.Errorf("Get = %+v, %v", v, err)
			}
		})
		synctest.Wait() // the caller waits now
	}
	each := (stackInUse() - before) / waiters
	close(loaded)
	wg.Wait()
	return each
}

// stackInUse returns the stack bytes of all goroutines.
func stackInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.StackInuse) //nolint:gosec // far from the limit
}
