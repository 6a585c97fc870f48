//go:build !race

package cache_test

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/local"
)

// TestMemoryOfAnEntry bounds what an entry costs above its key and value: the object with its node,
// its cell of the table, and its part of the sketch. A full collection comes before each reading.
func TestMemoryOfAnEntry(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills a cache with a million entries")
	}
	t.Run("int", func(t *testing.T) { weigh(t, 150, func(i int) int { return i }) })
	t.Run("64 bytes", func(t *testing.T) { weigh(t, 175, func(i int) [8]int { return [8]int{i} }) })
}

func weigh[V any](t *testing.T, most int64, value func(int) V) {
	const n = 1_000_000
	before := int64(heap())
	c := with(t, open(t, cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1 << 30})}), cache.Config[int, V]{
		Policy: patch{TTL: new(time.Hour)}, // a busy machine may take minutes for a million loads
		Load:   func(_ context.Context, k int) (V, error) { return value(k), nil },
	})
	for i := range n {
		must(t, errOf(c.Get(t.Context(), i)))
	}
	var v V
	got := (int64(heap())-before)/n - int64(unsafe.Sizeof(int(0))+unsafe.Sizeof(v))
	if _, ok := c.Peek(t.Context(), 1); !ok {
		t.Error("an entry has left: the tier is too small for this test")
	}
	if t.Logf("%d bytes", got); got > most {
		t.Errorf("an entry costs %d bytes above its key and value, want %d at most", got, most)
	}
}

// A Set that is one round trip makes 65 allocations with a tag, on one processor as here. The tails of both
// processes are not counted: what they make depends on the moment.
func TestAllocationsOfASet(t *testing.T) {
	w, ctx := openOnOne(t, asItIs), context.Background()
	must(t, w.tiers[1].Close(ctx))
	w.steps.deaf.Store(true)
	must(t, w.c[0].Set(ctx, 1, "v")) // the call of the tail that runs may hear of this one
	got := testing.AllocsPerRun(500, func() { must(t, w.c[0].Set(ctx, 1, "v")) })
	if t.Logf("%v allocations", got); got > 66 {
		t.Errorf("a Set makes %v allocations, want 66 at most", got)
	}
}
