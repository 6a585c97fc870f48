package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/race"
)

// Waiting for the fill of another process takes little longer than the load.
func TestOneLoadForAll(t *testing.T) {
	play(t, scene{on: "alone paired", steps: `
		source takes=70ms; go 999 a gets 1.1; go 1000 b gets 1.1; a gets 1.1; took 70ms-80ms; wait 10ms; b gets 1.1 local; loads 1`})
}

// A caller that leaves harms no other, not even while it makes the flight's call to the remote tier.
func TestCancelledFirstCallerHarmsNobody(t *testing.T) {
	play(
		t,
		scene{name: "during the load", on: "alone paired", steps: `
			source takes=1s; go a gets cancelled after=300ms; go 9 a gets 1.1; a gets 1.1; took 1s; loads 1`},
		scene{name: "during a remote call", on: paired, steps: `
			remote gets=20ms; go a gets late timeout=5ms; a gets 1.1; took 20ms-25ms`},
	)
}

// When the last caller leaves, the load's context ends. No flight is left: the next caller loads.
func TestLastToLeaveCancelsTheLoad(t *testing.T) {
	play(t, scene{on: "alone paired", steps: `
		source takes=20s; go a gets late timeout=1s; go a gets late timeout=2s; go a gets late timeout=3s
		wait 2999ms; running 1; wait 1ms; running 0; source takes=0s; a gets 1.2`})
}

// Callers with MaxAge share a load that is young enough for each of them. Each counts from its
// own call.
func TestMaxAgeMerges(t *testing.T) {
	play(t, scene{steps: `
		source takes=1s; go 20 a gets 1.1 load MaxAge=1m; wait 500ms; go 20 a gets 1.1 load MaxAge=1m; wait 10s; loads 1
		go a gets 1.2 load MaxAge=50ms; wait 100ms; a gets 1.3 load MaxAge=50ms; loads 3`})
}

// A load has the deadline of its policy, and not that of the caller that began it.
func TestLoaderContext(t *testing.T) {
	play(t, scene{cfg: thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
		deadline, _ := ctx.Deadline()
		equal(t, time.Until(deadline), 30*time.Second, "the time of a load")
		return "v", nap(ctx, 2*time.Second)
	}}, steps: "go a gets late timeout=1s; a gets v; took 2s"})
}

func panicHere(v any) { panic(v) }

// A panic and a Goexit of a loader reach every caller that waits, and each load releases its slot.
func TestPanicReachesEveryWaiter(t *testing.T) {
	for _, many := range []bool{false, true} {
		for _, call := range []string{"gets", "many"} {
			play(t, scene{name: fmt.Sprint(call, ", LoadMany ", many), on: paired, many: many, tc: cache.TiersConfig{MaxLoads: 1},
				steps: strings.ReplaceAll(`
					source takes=1s; source panics; go 31 a CALL panic; a CALL panic; a counts Loads.Panics=1; source calm; a CALL 1.2; a deletes
					source exits; go 2 a CALL goexit; a CALL goexit; a CALL goexit; source calm; a CALL 1.5`, "CALL", call)})
		}
	}
}

func TestTagsFuncPanics(t *testing.T) {
	play(t, scene{cfg: thingConfig{Tags: func(int, string) []string { panicHere(errSource); return nil }}, steps: "a gets panic"})
}

// A load and those that it waits for have one turn, also if another caller leads those.
func TestNestedLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c things
		c = with(t, open(t, cache.TiersConfig{MaxLoads: 1}), thingConfig{Load: func(ctx context.Context, k int) (string, error) {
			if err := nap(ctx, time.Millisecond); err != nil || k == 0 {
				return "bottom", err
			}
			return c.Get(ctx, k-1)
		}})
		start := time.Now()
		crowd(10, func(i int) { equal(t, get(t, c, 2*i+1), "bottom", "Get(%d)", 2*i+1) })
		equal(t, time.Since(start), 20*time.Millisecond, "the loads took")
	})
}

// A loader has the values of the caller's context. The same key of another tenant is another key.
func TestNotRecursive(t *testing.T) {
	type ctxKey struct{}
	synctest.Test(t, func(t *testing.T) {
		var c things
		c = with(t, open(t, cache.TiersConfig{}), thingConfig{Load: func(ctx context.Context, k int) (string, error) {
			if c, ok := ctx.Value(ctxKey{}).(string); ok {
				return c, nil
			}
			return c.Tenant("other").Get(context.WithValue(ctx, ctxKey{}, "inner"), k)
		}})
		equal(t, get(t, c, 1), "inner", "Get")
	})
}

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
