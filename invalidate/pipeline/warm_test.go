package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

func slowWarm(d time.Duration) func(context.Context, *pipeline.Warmup) error {
	return func(ctx context.Context, _ *pipeline.Warmup) error { return nap(ctx, d) }
}

func TestWarmUpsAreDebounced(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{Debounce: time.Second}, func(t *testing.T, r *rig) {
		for range 5 {
			apply(t, r, warming(event("post:7", "post:7"), "home"))
			advance(600 * time.Millisecond)
		}
		wantWarmed(t, r)
		advance(time.Second)
		wantWarmed(t, r, "home@5")
		for range 20 { // but not for ever
			apply(t, r, warming(event("post:7", "post:7"), "home"))
			advance(600 * time.Millisecond)
		}
		if s := r.Stats(); s.Skipped != 0 {
			t.Errorf("Stats = %+v", s)
		}
		wantWarmed(t, r, "home@22")
	})
}

func TestWarmUpsKeepTheirOrder(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{Debounce: -1, MaxWarming: 1}, func(t *testing.T, r *rig) {
		apply(t, r, warming(event("a", "a"), "object", "page", "feed"))
		synctest.Wait()
		if got := fmt.Sprint(r.warm.take()); got != "[object@1 page@1 feed@1]" {
			t.Errorf("warmed up: %v", got)
		}
	})
}

// What was loaded before an invalidation is not stored after it: the run is
// repeated.
func TestOvertakenWarmUpIsRepeated(t *testing.T) {
	for _, tt := range []struct {
		name string
		next pipeline.Event
	}{
		{"by its subject", warming(event("post:7", "x"), "post")},
		{"by an entity of its subject", event("post:8", "posts")},
		{"by its name", warming(event("post:8", "x"), "post")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
				r.warm.set(slowWarm(10 * time.Second))
				apply(t, r, warming(event("post:7", "post:7", "posts"), "post"))
				advance(5 * time.Second)
				apply(t, r, tt.next)
				advance(9 * time.Second)
				wantWarmed(t, r)
				advance(10 * time.Second)
				wantWarmed(t, r, "post@2")
				if s := r.Stats(); s.Restarted != 1 || s.Warmed != 1 {
					t.Errorf("Stats = %+v", s)
				}
			})
		})
	}
}

func TestUnrelatedEventDoesNotDisturb(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.warm.set(slowWarm(20 * time.Second))
		apply(t, r, warming(event("post:7", "post:7"), "post"))
		advance(time.Second)
		apply(t, r, warming(event("page:1", "page:1"), "other"))
		advance(time.Minute)
		wantWarmed(t, r, "other@2", "post@1")
		if s := r.Stats(); s.Restarted != 0 {
			t.Errorf("Stats = %+v", s)
		}
	})
}

// An event about the subject overtakes also without naming an entity.
func TestDeletedSubjectIsNotStored(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.warm.set(slowWarm(10 * time.Second))
		apply(t, r, warming(event("post:7", "post:7"), "post"))
		advance(time.Second)
		apply(t, r, deleting(event("post:7")))
		advance(time.Minute)
		wantWarmed(t, r)
	})
}

// A flush overtakes everything.
func TestFlushRepeatsWarmUps(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.warm.set(slowWarm(10 * time.Second))
		apply(t, r, warming(event("post:7", "post:7"), "post"))
		advance(time.Second)
		if err := r.Consume(t.Context(), r.queue.PublishAll()); err != nil {
			t.Error(err)
		}
		advance(time.Minute)
		wantWarmed(t, r, "post@2")
	})
}

// What a later event about the subject does not ask for is dropped, whether it
// waits or runs, unless another subject asks for it.
func TestWarmUpIsWithdrawn(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
				r.warm.set(slowWarm(10 * time.Second))
				apply(t, r, warming(event("post:7", "post:7"), "page:b", "home"), warming(event("post:8", "post:8"), "home"))
				advance(wait)
				apply(t, r, deleting(event("post:7", "post:7")))
				advance(time.Minute)
				wantWarmed(t, r, "home@3")
				if s := r.Stats(); s.Skipped != 1 {
					t.Errorf("Stats = %+v", s)
				}
			})
		})
	}
}

// TestCommitNeverStoresOlderData lets an invalidation come between the load and
// the store, and during the store.
func TestCommitNeverStoresOlderData(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		var stored, runs atomic.Uint64 // stored: the epoch of what was
		r.warm.set(func(ctx context.Context, w *pipeline.Warmup) error {
			runs.Add(1)
			loaded := r.queue.Last()
			_ = nap(context.WithoutCancel(ctx), time.Second) // does not listen
			return w.Commit(func() error {
				_ = nap(context.WithoutCancel(ctx), time.Second)
				stored.Store(loaded)
				return nil
			})
		})
		apply(t, r, warming(event("post:7", "post:7"), "post"))
		advance(500 * time.Millisecond)
		apply(t, r, event("post:8", "post:7")) // between
		advance(time.Second)
		if stored.Load() != 0 {
			t.Fatalf("stored what was loaded as of %d", stored.Load())
		}
		advance(1250 * time.Millisecond) // the second run is storing
		start := time.Now()
		apply(t, r, event("post:8", "post:7"))
		if took := time.Since(start); took == 0 || stored.Load() != 2 {
			t.Errorf("the stages were called %v later, with what was loaded as of %d", took, stored.Load())
		}
		advance(10 * time.Second)
		if stored.Load() != 3 || runs.Load() != 3 {
			t.Errorf("stored what was loaded as of %d, after %d runs", stored.Load(), runs.Load())
		}
	})
}

// TestCommitNamesEntities has a page that is made of more than those who asked
// for it know.
func TestCommitNamesEntities(t *testing.T) {
	for _, tt := range []struct {
		name     string
		entities []string // invalidated while it is loaded
		want     string
	}{
		{"one of them", []string{"x", "nav"}, "home@2"},
		{"none of them", []string{"x"}, "home@1"},
		{"too many to tell", slices.Repeat([]string{"x"}, 5), "home@6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
				r.warm.entities = []string{"nav", "post:7"}
				r.warm.set(slowWarm(10 * time.Second))
				apply(t, r, warming(event("post:7", "post:7"), "home"))
				advance(time.Second)
				if len(tt.entities) == 5 {
					for i := range tt.entities {
						e := event("x")
						for j := range pipeline.MaxInvalidates {
							e.Invalidates = append(e.Invalidates, fmt.Sprint(i, "-", j))
						}
						apply(t, r, e)
					}
				} else {
					apply(t, r, event("x", tt.entities...))
				}
				advance(time.Minute)
				wantWarmed(t, r, tt.want)
			})
		})
	}
}

// What comes during a store that named its entities waits for it.
func TestInvalidationWaitsForStore(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.warm.set(func(_ context.Context, w *pipeline.Warmup) error {
			return w.Commit(func() error { return nap(context.Background(), 5*time.Second) }, "nav")
		})
		apply(t, r, warming(event("post:7", "post:7"), "home"))
		advance(time.Second)
		start := time.Now()
		apply(t, r, event("x", "x"))
		if took := time.Since(start); took != 0 {
			t.Errorf("an unrelated event waited for %v", took)
		}
		apply(t, r, event("nav", "nav"))
		if took := time.Since(start); took != 4250*time.Millisecond {
			t.Errorf("the event waited for %v", took)
		}
	})
}

// A store that hangs holds up nobody for longer than he wants to wait, and no
// longer than a stage may take.
func TestHangingStore(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		release := make(chan struct{})
		r.warm.set(func(_ context.Context, w *pipeline.Warmup) error {
			return w.Commit(func() error { <-release; return nil })
		})
		apply(t, r, warming(event("a", "a"), "w"))
		advance(time.Second)
		r.calls.take()
		start := time.Now()
		err := r.Apply(t.Context(), event("b", "a"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("Apply = %v after %v", err, time.Since(start))
		}
		apply2 := make(chan error)
		go func() { apply2 <- r.Consume(t.Context(), 2) }()
		synctest.Wait()
		close(release)
		if err := <-apply2; err != nil {
			t.Errorf("Consume = %v", err)
		}
		wantCalls(t, r, "objects [a]", "responses [a]")
	})
}

// While a plan waits to be tried again, what it reaches is not warmed up, for it
// would be invalidated at once; the rest is.
func TestWarmUpsWaitForTheirPlan(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		apply(t, r, warming(event("post:7", "post:7"), "post"), warming(event("page:1", "page:1"), "page"))
		r.respond.set(errDown)
		if err := r.Apply(t.Context(), event("post:8", "post:7")); !errors.Is(err, errDown) {
			t.Errorf("Apply = %v", err)
		}
		advance(time.Minute)
		wantWarmed(t, r, "page@2")
		r.respond.set(nil)
		apply(t, r, event("x", "x"))
		advance(time.Minute)
		wantWarmed(t, r, "post@3")
	})
}

func TestWarmUpsAreBounded(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{MaxWarming: 3, MaxWarms: 20}, func(t *testing.T, r *rig) {
		r.warm.set(slowWarm(time.Second))
		for i := range 30 {
			apply(t, r, warming(event(fmt.Sprint("s", i), "e"), fmt.Sprint("w", i)))
		}
		advance(time.Minute)
		if s := r.Stats(); s.Warmed != 20 || s.RefusedWarms != 10 || r.warm.most != 3 {
			t.Errorf("%d at a time, Stats = %+v", r.warm.most, s)
		}
	})
}

// A page that more subjects ask for than are told apart is changed by any event.
func TestWideWarmUp(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.warm.set(slowWarm(10 * time.Second))
		for i := range 100 {
			apply(t, r, warming(event(fmt.Sprint("s", i), fmt.Sprint("s", i)), "home"))
		}
		advance(time.Second)
		apply(t, r, event("s99", "s99")) // one of those not kept
		advance(time.Minute)
		wantWarmed(t, r, "home@101")
		for i := range 100 {
			apply(t, r, warming(event(fmt.Sprint("s", i), "x"), "home"))
		}
		advance(time.Second)
		for i := range 100 { // none of them wants it any more, but who could tell
			apply(t, r, deleting(event(fmt.Sprint("s", i), fmt.Sprint("s", i))))
		}
		advance(time.Minute)
		wantWarmed(t, r, "home@301")
	})
}

func TestWarmUpFails(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{WarmTimeout: time.Second}, func(t *testing.T, r *rig) {
		r.warm.set(func(ctx context.Context, w *pipeline.Warmup) error {
			switch w.Name {
			case "panics":
				panic("a secret")
			case "hangs":
				return nap(ctx, time.Hour)
			case "unknown":
				return errors.New("no such page")
			case "late":
				_ = nap(context.WithoutCancel(ctx), time.Minute)
			}
			return nil
		})
		apply(t, r, warming(event("a", "a"), "panics", "hangs", "unknown", "fine", "late"))
		advance(2 * time.Minute)
		wantWarmed(t, r, "fine@1")
		if s := r.Stats(); s.FailedWarms != 4 || s.Panics != 1 || s.Warmed != 1 || s.Waiting+s.Warming != 0 {
			t.Errorf("Stats = %+v", s)
		}
		if log := r.said.String(); !strings.Contains(log, "no such page") || strings.Contains(log, "secret") {
			t.Errorf("log: %s", log)
		}
	})
}

func TestWarmUpCause(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		var cause error
		r.warm.set(func(ctx context.Context, _ *pipeline.Warmup) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		})
		apply(t, r, warming(event("a", "a"), "w"))
		advance(time.Second)
		apply(t, r, deleting(event("a", "a")))
		synctest.Wait()
		if !errors.Is(cause, pipeline.ErrOvertaken) {
			t.Errorf("cause = %v", cause)
		}
	})
}

func TestWarmupOfATest(t *testing.T) {
	w := &pipeline.Warmup{Name: "home"}
	if err := w.Commit(func() error { return errDown }); !errors.Is(err, errDown) {
		t.Errorf("Commit = %v", err)
	}
}
