package cache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// owedCalls are the calls that invalidate key 1.
var owedCalls = map[string]func(*testing.T, context.Context, *logged) error{
	"Delete":    func(_ *testing.T, ctx context.Context, w *logged) error { return w.c[0].Delete(ctx, 1) },
	"DeleteAll": func(_ *testing.T, ctx context.Context, w *logged) error { return w.c[0].DeleteAll(ctx) },
	"tag": func(_ *testing.T, ctx context.Context, w *logged) error {
		return w.tiers[0].Invalidate(ctx, invalidate.Tag("default", "t"))
	},
	"key": func(t *testing.T, ctx context.Context, w *logged) error {
		return w.tiers[0].Invalidate(ctx, keyScope(t, 1))
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
	for name, call := range owedCalls {
		for state, fault := range faults {
			for limit, d := range patience {
				bubble(t, name+"/"+state+"/"+limit, func(t *testing.T) { ownReads(t, call, fault, d) })
			}
		}
	}
}

func ownReads(t *testing.T, call func(*testing.T, context.Context, *logged) error, fault func(*logtest.Faulty), limit time.Duration) {
	w := newLogged(t, thingConfig{Tags: tagT})
	w.want(t, 1, 1, "1.1")
	w.want(t, 0, 1, "1.1")
	fault(w.link[0])
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err := call(t, ctx, w)
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
