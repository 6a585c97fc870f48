package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// outdating are the calls that invalidate key 1, whose tag is t, and wait for the log.
var outdating = map[string]func(ctx context.Context, w *duo) error{
	"Set": func(ctx context.Context, w *duo) error { return w.c[0].Set(ctx, 1, time.Now().String()) },
	"SetMany": func(ctx context.Context, w *duo) error {
		return w.c[0].SetMany(ctx, map[int]string{1: time.Now().String(), 2: "set"})
	},
	"Delete":     func(ctx context.Context, w *duo) error { return w.c[0].Delete(ctx, 1) },
	"DeleteMany": func(ctx context.Context, w *duo) error { return w.c[0].DeleteMany(ctx, []int{1, 2}) },
	"DeleteAll":  func(ctx context.Context, w *duo) error { return w.c[0].DeleteAll(ctx) },
	"key":        func(ctx context.Context, w *duo) error { return w.tiers[0].Invalidate(ctx, w.c[0].Key(1)) },
	"tag":        func(ctx context.Context, w *duo) error { return w.tiers[0].Invalidate(ctx, w.c[0].Tag("t")) },
	"Expire":     func(ctx context.Context, w *duo) error { return w.tiers[0].Expire(ctx, w.c[0].Tag("t")) },
	"Strict": func(ctx context.Context, w *duo) error {
		return w.tiers[0].Invalidate(ctx, w.c[0].Key(1), invalidate.Strict)
	},
}

// An invalidation that returned holds in its own process, whatever it returned and in any state
// of the log. No later read gets the old value, although the remote tier still has it.
func TestOwnReadsAfterPendingError(t *testing.T) {
	faults := map[string]func(*logtest.Faulty){
		"down":    func(f *logtest.Faulty) { f.Fail(errors.New("down"), logtest.Sync) },
		"hanging": func(f *logtest.Faulty) { f.Hang(true, logtest.Sync) },
		"slow":    func(f *logtest.Faulty) { f.Delay(bound/5, logtest.Sync) },
		"well":    func(*logtest.Faulty) {},
	}
	patience := map[string]time.Duration{"none": 0, "a millisecond": time.Millisecond, "bound": time.Hour}
	for name, call := range outdating {
		if name == "Strict" { // it also fails when only the others are not known to have heard
			continue
		}
		for state, fault := range faults {
			for limit, d := range patience {
				bubble(t, name+"/"+state+"/"+limit, func(t *testing.T) { ownReads(t, call, fault, d) })
			}
		}
	}
}

func ownReads(t *testing.T, call func(context.Context, *duo) error, fault func(*logtest.Faulty), limit time.Duration) {
	w := newLogged(t, thingConfig{Tags: tagT})
	w.want(t, 1, 1, "1.1")
	w.want(t, 0, 1, "1.1")
	fault(w.link[0])
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err := call(ctx, w)
	if _, ok := errors.AsType[*invalidate.PendingError](err); err != nil && !ok {
		t.Fatalf("the call returned %v, want nil or a PendingError", err)
	}
	for range 40 {
		if got := get(t, w.c[0], 1); got == "1.1" {
			t.Fatalf("a read after the call returned %q", got)
		}
		if m, err := w.c[0].GetMany(t.Context(), []int{1}); err != nil || m[1] == "1.1" {
			t.Fatalf("GetMany after the call = %v, %v", m, err)
		}
		advance(bound / 40)
	}
	w.link[0].Heal()
	advance(bound)
	if n := w.tiers[0].Stats().Log.Pending; n != 0 {
		t.Errorf("%d pending, want 0", n)
	}
	for i := range w.c {
		if got := get(t, w.c[i], 1); got == "1.1" {
			t.Errorf("process %d reads %q a bound after the log recovered", i, got)
		}
	}
}

// A writer that is cancelled while the log hangs returns at once. What it invalidated is gone in
// this process, and reaches the other one when the log answers again.
func TestCancelledWriterLeavesAHungLog(t *testing.T) {
	for name, write := range outdating {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT})
			w.want(t, 0, 1, "1.1")
			w.want(t, 1, 1, "1.1")
			w.link[0].Hang(true)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Millisecond, cancel)
			begun := time.Now()
			err := write(ctx, w)
			if took := time.Since(begun); took > 2*time.Millisecond {
				t.Errorf("it returned after %v, want 1ms: it was cancelled then", took)
			}
			if _, pending := errors.AsType[*invalidate.PendingError](err); !pending || !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want a PendingError that is Canceled", err)
			}
			if v := get(t, w.c[0], 1); v == "1.1" {
				t.Error("the old value is served in this process")
			}
			w.link[0].Heal()
			advance(bound)
			if v := get(t, w.c[1], 1); v == "1.1" {
				t.Error("the old value is served in the other process")
			}
		})
	}
}

// During an outage of the log a call returns a PendingError after InvalidateWait. This process
// no longer serves the invalidated value.
func TestInvalidateWait(t *testing.T) {
	for name, write := range outdating {
		for wait, want := range map[time.Duration]time.Duration{
			0: 250 * time.Millisecond, 20 * time.Millisecond: 20 * time.Millisecond, 3 * time.Second: 3 * time.Second,
		} {
			bubble(t, fmt.Sprint(name, " ", wait), func(t *testing.T) {
				link := logtest.NewFaulty(logtest.NewMemory(logtest.MemoryConfig{Bound: bound}))
				tiers := open(t, cache.TiersConfig{Log: link, InvalidateWait: wait})
				src := &source{}
				c := with(t, tiers, thingConfig{Load: src.load, Tags: tagT})
				w := &duo{tiers: [2]*cache.Tiers{tiers}, c: [2]things{c}}
				must(t, tiers.Ready(t.Context()))
				down := errors.New("down")
				link.Fail(down)
				for range 3 {
					old, begun := get(t, c, 1), time.Now()
					err := write(t.Context(), w)
					if _, ok := errors.AsType[*invalidate.PendingError](err); !ok || !errors.Is(err, down) || time.Since(begun) != want {
						t.Errorf("%v after %v, want a PendingError and its cause after %v", err, time.Since(begun), want)
					}
					if now := get(t, c, 1); now == old {
						t.Errorf("a read after the call returned %q", now)
					}
					advance(bound)
				}
				link.Heal()
				advance(time.Second)
				if n := tiers.Stats().Log.Pending; n != 0 {
					t.Errorf("%d pending a second after the outage, want 0", n)
				}
			})
		}
	}
}
