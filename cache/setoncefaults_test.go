package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// The record that follows a Set's own may be applied before the Set goes on. Then this process must
// not keep the value of the Set, which is older.
func TestSetIsOvertakenByALaterRecord(t *testing.T) {
	for name, later := range map[string]func(ctx context.Context, w *onOne) error{
		"of its key": func(ctx context.Context, w *onOne) error { return w.c[1].Delete(ctx, 1) },
		"of its tag": func(ctx context.Context, w *onOne) error {
			return w.tiers[1].Invalidate(ctx, invalidate.Tag("default", "t"))
		},
		"of all": func(ctx context.Context, w *onOne) error { return w.tiers[1].Invalidate(ctx, invalidate.All()) },
	} {
		t.Run(name, func(t *testing.T) {
			w := openOnOne(t, asItIs)
			w.c[0] = with(t, w.tiers[0], cache.Config[int, string]{Namespace: "things", Policy: slow, Tags: func(int, string) []string { return []string{"t"} }})
			w.steps.f = func(step func() error) error {
				records := func() int64 { return w.tiers[0].Stats().Log.Records }
				both := records() + 2
				err := errors.Join(step(), later(t.Context(), w))
				redistest.Eventually(t, "the tail hears of both records", func(context.Context) error {
					if n := records(); n < both {
						return fmt.Errorf("%d records of %d", n, both)
					}
					return nil
				})
				return err
			}
			must(t, w.c[0].Set(t.Context(), 1, "older"))
			if v, err := w.c[0].Get(t.Context(), 1); !errors.Is(err, cache.ErrMiss) {
				t.Errorf("the process that set it reads %q, %v; want a miss", v, err)
			}
			w.steps.f = nil
			must(t, w.c[0].Set(t.Context(), 1, "newer"))
			w.want(t, 0, "newer")
			w.want(t, 1, "newer")
		})
	}
}

// A process that is behind the log claims the cell, and fills it after it has caught up.
func TestSetBehindTheLog(t *testing.T) {
	w := openOnOne(t, asItIs)
	before := total(w.tiers[0]).Fills
	w.steps.f = func(step func() error) error {
		return errors.Join(w.c[1].Set(t.Context(), 2, "another key"), step())
	}
	must(t, w.c[0].Set(t.Context(), 1, "v"))
	w.want(t, 0, "v")
	w.want(t, 1, "v")
	equal(t, total(w.tiers[0]).Fills-before, 1, "fills stored")
}

// Whatever becomes of the step, the three steps one by one follow a failure. So the newest value wins
// in all processes.
func TestSetAfterALostStep(t *testing.T) {
	lost := errors.New("lost")
	for name, f := range map[string]func(step func() error) error{
		"the question is lost": func(func() error) error { return lost },
		"the answer is lost":   func(step func() error) error { return errors.Join(step(), lost) },
		"the step panics":      func(func() error) error { panic("a client library") },
		"it comes late": func(step func() error) error {
			time.AfterFunc(20*time.Millisecond, func() { _ = step() })
			return lost
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := openOnOne(t, asItIs)
			must(t, w.c[0].Set(t.Context(), 1, "old"))
			w.want(t, 1, "old")
			w.steps.f = f
			redistest.Eventually(t, "the new value is set", func(ctx context.Context) error { return w.c[0].Set(ctx, 1, "new") })
			w.want(t, 0, "new")
			w.want(t, 1, "new")
		})
	}
}

// A hold keeps its cell, although this process has not heard of it.
func TestSetLeavesAHold(t *testing.T) {
	w := openOnOne(t, asItIs)
	if err := w.c[0].Set(t.Context(), 1, "old"); err != nil || w.rdb.Exists(t.Context(), w.cell).Val() != 1 {
		t.Fatalf("Set = %v, and there is no cell %s", err, w.cell)
	}
	hold := string(tier.HoldCell(tier.Nonce{1}))
	w.rdb.Set(t.Context(), w.cell, hold, time.Minute)
	must(t, w.c[0].Set(t.Context(), 1, "v"))
	equal(t, w.rdb.Get(t.Context(), w.cell).Val(), hold, "the cell holds")
	w.want(t, 0, "v") // as without a log on the same server
}

// A context that ends during the step ends the Set, and the old value is gone.
func TestSetIsCancelledDuringTheStep(t *testing.T) {
	w := openOnOne(t, asItIs)
	must(t, w.c[0].Set(t.Context(), 1, "old"))
	w.want(t, 1, "old")
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan struct{})
	w.steps.f = func(step func() error) error { cancel(); <-end; return step() }
	err := w.c[0].Set(ctx, 1, "new")
	close(end)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Set = %v, want %v", err, context.Canceled)
	}
	redistest.Eventually(t, "the old value is gone", func(ctx context.Context) error {
		if v, err := w.c[1].Get(ctx, 1); err == nil && v == "old" {
			return errors.New("it is there")
		}
		return nil
	})
}

// A hold of a tag keeps the value out of the remote tier: one that is known before the step, and one
// that comes just before it.
func TestSetInOneStepUnderAHold(t *testing.T) {
	for name, during := range map[string]bool{"before the Set": false, "during the Set": true} {
		t.Run(name, func(t *testing.T) {
			w := openOnOne(t, asItIs)
			for i := range w.c {
				w.c[i] = with(t, w.tiers[i], cache.Config[int, string]{Namespace: "things", Policy: slow, Tags: func(int, string) []string { return []string{"t"} }})
			}
			hold := func(process int) {
				succeeds(t, w.tiers[process].Invalidate(t.Context(), invalidate.Tag("default", "t"), invalidate.Hold(time.Minute)))
			}
			if during {
				w.steps.f = func(step func() error) error { hold(1); return step() }
			} else {
				hold(0)
			}
			must(t, w.c[0].Set(t.Context(), 1, "v"))
			if v, ok := w.c[1].Peek(t.Context(), 1); ok {
				t.Errorf("another process finds %q in the remote tier", v)
			}
			w.want(t, 0, "v")
		})
	}
}
