package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// SoftTimeout counts once for a call, for any number of keys. The loads go on. Without an old value of
// one key the call waits for its load.
func TestGetManySoftTimeout(t *testing.T) {
	cfg := thingConfig{Policy: patch{TTL: new(10 * time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(50 * time.Millisecond)}}
	for _, many := range []bool{false, true} {
		for harm, on := range map[string]ground{"": "alone paired", "a's remote hangs": paired} {
			play(t, scene{name: fmt.Sprintf("LoadMany %v, %s", many, harm), on: on, many: many, cfg: cfg, steps: `
				a batches 0-39; wait 1m; source takes=5s; ` + harm + `; a batches 0-39; took 50ms; a gets 1.1 stale; took 50ms
				wait 6s; a's remote well; wait 2s; a batches 0-40; took 5s; a gets 7.2 local key=7; a gets 40.1 local key=40`})
		}
	}
}

// A GetMany in chunks waits for one deadline on a remote tier that hangs.
func TestGetManyChunksOfAHungTier(t *testing.T) {
	play(t, scene{on: paired, cfg: thingConfig{Policy: patch{RemoteTimeout: new(50 * time.Millisecond)}}, steps: "remote hangs; a batches 0-3499; took 50ms"})
}

// A command to the remote tier has at most a thousand keys. A larger one would block the server
// for too long.
func TestGetManyChunks(t *testing.T) {
	const n, most = 2500, 1000
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, paired, cache.TiersConfig{}, thingConfig{LoadMany: ofEach((&source{}).load), MaxBatch: n}, asIs)
		for i, want := range []map[tiertest.Op]int{{tiertest.GetMany: n, tiertest.ClaimMany: n, tiertest.FillMany: n}, {tiertest.GetMany: n}} {
			var mu sync.Mutex
			sent := map[tiertest.Op]int{}
			w.wire[i].Before(func(_ context.Context, op tiertest.Op, keys []string) {
				mu.Lock()
				defer mu.Unlock()
				if sent[op] += len(keys); len(keys) > most {
					t.Errorf("process %d: a command has %d keys, want at most %d", i, len(keys), most)
				}
			})
			m, err := w.c[i].GetMany(t.Context(), ints(0, n))
			if len(m) != n || m[n-1] != fmt.Sprint(n-1, ".1") || err != nil {
				t.Errorf("process %d: GetMany = %d values, the last %q, %v", i, len(m), m[n-1], err)
			}
			same(t, want, sent, "process %d: keys by operation", i)
		}
	})
}

// When Clone panics for one key of a GetMany, the call gives up its other keys. Their loads lose
// their last caller and are cancelled. The next read starts its own load.
func TestGetManyCloneThatPanics(t *testing.T) {
	for _, many := range []bool{false, true} {
		bubble(t, fmt.Sprint("LoadMany=", many), func(t *testing.T) { cloneThatPanics(t, many) })
	}
}

func cloneThatPanics(t *testing.T, many bool) {
	remote, src := tiertest.NewMemory(), &source{}
	other := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
	get(t, other, 1)
	var fine atomic.Bool
	src.took = time.Hour
	cfg := thingConfig{
		Load:   src.load,
		Policy: patch{LoadTimeout: new(2 * time.Hour)},
		Clone: func(v string) string {
			if !fine.Load() {
				panicHere("Clone")
			}
			return v
		},
	}
	if many {
		cfg.LoadMany = src.loadMany
	}
	c := with(t, open(t, cache.TiersConfig{Remote: remote, MaxFlights: 4}), cfg)
	// The value of 1 comes from the remote tier; the others load for an hour.
	if p := panicOf(func() { _, _ = c.GetMany(t.Context(), []int{1, 2, 3, 4}) }); p == nil {
		t.Error("GetMany does not panic when Clone panics")
	}
	synctest.Wait()
	src.mu.Lock()
	cancelled, begun := len(src.ctxErrs), src.loads[2]+src.loads[3]+src.loads[4]
	src.took = 0
	src.mu.Unlock()
	if many {
		begun = len(src.batches)
	}
	if cancelled != begun { // none began if the panic came first
		t.Errorf("%d of %d loads were cancelled when the call ended", cancelled, begun)
	}
	fine.Store(true)
	start := time.Now()
	for _, k := range []int{1, 2, 3, 4, 5, 6, 7, 8} { // more than MaxFlights
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		succeeds(t, errOf(c.Get(ctx, k)))
		cancel()
	}
	if d := time.Since(start); d > 0 {
		t.Errorf("the reads after the panic took %v, want no wait for the old loads", d)
	}
	if err := errors.Join(src.ctxErrs...); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the loads ended with %v, want Canceled", err)
	}
}

// A Batcher that returns too few answers counts as a failing remote tier. It costs time, but
// every read gets its answer.
func TestBatcherAnswersShort(t *testing.T) {
	for _, op := range []tiertest.Op{tiertest.GetMany, tiertest.ClaimMany, tiertest.FillMany} {
		bubble(t, fmt.Sprint(op), func(t *testing.T) {
			src, remote := &source{}, &curt{Faulty: faulty()}
			remote.op.Store(int32(op)) //nolint:gosec // one of a few
			tiers := open(t, cache.TiersConfig{Remote: remote, Log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound})})
			c := with(t, tiers, thingConfig{Load: src.load, LoadMany: src.loadMany})
			synctest.Wait()
			got, err := c.GetMany(t.Context(), []int{1, 2, 3})
			must(t, err)
			same(t, map[int]string{1: "1.1", 2: "2.1", 3: "3.1"}, got, "GetMany")
			err = tiers.Invalidate(t.Context(), keyScope(t, 1), keyScope(t, 2), invalidate.Hold(time.Second))
			if ae, ok := errors.AsType[*tier.AnswersError](err); (op == tiertest.GetMany) != (err == nil) || (err != nil && !ok) {
				t.Errorf("Invalidate with Hold = %v (%v); want an AnswersError unless only GetMany returns too few answers", err, ae)
			}
			remote.op.Store(-1)
		})
	}
}
