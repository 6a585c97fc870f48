package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

var (
	plain    pipeline.Config
	anyQueue pipeline.QueueConfig
)

func wantCalls(t *testing.T, r *rig, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.calls.take()); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
}

func wantWarmed(t *testing.T, r *rig, want ...string) {
	t.Helper()
	got := r.warm.take()
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warmed up (-want +got):\n%s", diff)
	}
}

func TestApplyInvalidatesInOrder(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		apply(t, r, event("post:7", "post:7", "posts"), event("nav", "nav"))
		wantCalls(t, r, "objects [nav post:7 posts]", "responses [nav post:7 posts]")
		if r.Applied() != 2 {
			t.Errorf("Applied = %d, want 2", r.Applied())
		}
		apply(t, r) // nothing to wait for
		if err := r.Consume(t.Context(), pipeline.Everything); err != nil {
			t.Error(err)
		}
		wantCalls(t, r)
	})
}

// TestWarmUpsSurviveTheWriter is W-E1: the writer's synchronous consumption
// drains the queue, the automatic run finds nothing, and yet it is warmed up.
func TestWarmUpsSurviveTheWriter(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		go r.Run(t.Context())
		startup := warming(event("startup"), "home", "feed")
		publish(t, r.queue, startup)
		apply(t, r, warming(event("post:7", "post:7"), "post:7")) // drains both
		if r.queue.Len() != 0 {
			t.Fatal("the writer left something in the queue")
		}
		wantWarmed(t, r) // it was not held up by it
		advance(time.Second)
		wantWarmed(t, r, "feed@2", "home@2", "post:7@2")
		advance(20 * time.Second)
		s := r.Stats()
		if s.Warmed != 3 || s.AutoHits != 0 || s.AutoRuns != 4 || s.WriteConsumes != 1 {
			t.Errorf("Stats = %+v", s)
		}
	})
}

// TestOverflowIsAppliedEverywhere is W-E2 to the end: with no room for an event,
// all stages are told to drop everything.
func TestOverflowIsAppliedEverywhere(t *testing.T) {
	bubble(t, pipeline.QueueConfig{MaxEvents: 2}, plain, func(t *testing.T, r *rig) {
		publish(t, r.queue, event("a", "a"), event("b", "b"), event("c", "c"), warming(event("d", "d"), "d"))
		if err := r.Consume(t.Context(), 1); err != nil {
			t.Error(err)
		}
		wantCalls(t, r, "objects [d] all", "responses [d] all")
		advance(time.Second)
		wantWarmed(t, r, "d@4")
		if !strings.Contains(r.said.String(), "overflowed") {
			t.Errorf("log: %s", r.said)
		}
	})
}

// TestWriterPassesItsOwnEpoch is W-E3: more than a batch is queued before it.
func TestWriterPassesItsOwnEpoch(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{Batch: 10}, func(t *testing.T, r *rig) {
		for i := range 25 {
			publish(t, r.queue, event("s", fmt.Sprint("e", i)))
		}
		apply(t, r, event("mine", "mine"))
		calls := r.calls.take()
		if len(calls) != 6 || !strings.Contains(calls[5], "mine") || r.queue.Len() != 0 {
			t.Errorf("stages: %q", calls)
		}
	})
}

// TestSlugsInTwoBatches is W-E4 for a consumer, also when the first try failed.
func TestSlugsInTwoBatches(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.objects.set(errDown)
		publish(t, r.queue, warming(event("post:7", "slug:a", "slug:b"), "page:b"))
		if err := r.Consume(t.Context(), 1); !errors.Is(err, errDown) {
			t.Errorf("Consume = %v", err)
		}
		r.calls.take()
		r.objects.set(nil)
		apply(t, r, warming(event("post:7", "slug:b", "slug:c"), "page:c"))
		wantCalls(t, r, "objects [slug:a slug:b]", "responses [slug:a slug:b]", "objects [slug:b slug:c]", "responses [slug:b slug:c]")
		advance(time.Second)
		wantWarmed(t, r, "page:c@2")
	})
}

// A stage that fails keeps the events; Run tries again, from that stage on, and
// the events behind wait their turn.
func TestFailedStageIsTriedAgain(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{Window: time.Second}, func(t *testing.T, r *rig) {
		go r.Run(t.Context())
		r.respond.set(errDown)
		err := r.Apply(t.Context(), warming(event("a", "a"), "a"))
		stage, ok := errors.AsType[*pipeline.StageError](err)
		if !ok || stage.Stage != "responses" || !errors.Is(err, errDown) {
			t.Errorf("Apply = %v, want a StageError of responses", err)
		}
		publish(t, r.queue, event("b", "b"))
		wantCalls(t, r, "objects [a]", "responses [a]")
		advance(1500 * time.Millisecond)
		wantCalls(t, r, "responses [a]")
		wantWarmed(t, r)
		if r.Applied() != 0 || r.queue.Len() != 1 {
			t.Errorf("Applied = %d, %d queued", r.Applied(), r.queue.Len())
		}
		r.respond.set(nil)
		advance(time.Second)
		wantCalls(t, r, "responses [a]", "objects [b]", "responses [b]")
		advance(time.Second)
		wantWarmed(t, r, "a@2")
		s := r.Stats()
		if s.StageFailures["responses"] != 2 || s.StageFailures["objects"] != 0 || s.FailedRounds != 2 || s.AutoHits != 2 || s.Plans != 2 {
			t.Errorf("Stats = %+v", s)
		}
	})
}

func TestPanickingStageIsContained(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.objects.panic = "a secret"
		if err := r.Apply(t.Context(), event("a", "a")); !errors.Is(err, pipeline.ErrPanic) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Apply = %v", err)
		}
		if log := r.said.String(); !strings.Contains(log, "kit_test.go") || strings.Contains(log, "secret") {
			t.Errorf("log: %s", log)
		}
		r.objects.panic = nil
		if err := r.Consume(t.Context(), 1); err != nil || r.Stats().Panics != 1 {
			t.Errorf("Consume = %v, %d panics", err, r.Stats().Panics)
		}
	})
}

// A stage that ends its goroutine, as a test's t.FailNow does, leaves no one
// waiting for it.
func TestStageEndsItsGoroutine(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.Disable()
		c, err := pipeline.NewConsumer(r.queue, pipeline.Config{Stages: []pipeline.Stage{
			{Name: "exit", Invalidate: func(ctx context.Context, _ []string, _ bool) error {
				_ = nap(ctx, time.Second)
				runtime.Goexit()
				return nil
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		publish(t, r.queue, event("a", "a"))
		go func() { _ = c.Consume(t.Context(), 1) }()
		synctest.Wait()
		if err := c.Consume(t.Context(), 1); err == nil {
			t.Error("Consume of what nobody applied = nil")
		}
	})
}

func TestStageTimeout(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{StageTimeout: time.Second}, func(t *testing.T, r *rig) {
		r.respond.slow(time.Hour)
		start := time.Now()
		err := r.Apply(t.Context(), event("a", "a"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Apply = %v after %v", err, time.Since(start))
		}
	})
}

// Writers that come while a round is under way wait for it and are served
// together by the next.
func TestWritersShareRounds(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.objects.slow(time.Second)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() { apply(t, r, event("s", fmt.Sprint("e", i))) })
		}
		start := time.Now()
		wg.Wait()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("10 writers took %v, want two rounds at most", took)
		}
		seen := map[string]int{}
		for _, call := range r.calls.take() {
			if name, list, _ := strings.Cut(call, " "); name == "objects" {
				for e := range strings.FieldsSeq(strings.Trim(list, "[]")) {
					seen[e]++
				}
			}
		}
		if len(seen) != 10 {
			t.Errorf("entities: %v", seen)
		}
		for e, n := range seen {
			if n != 1 {
				t.Errorf("%s was invalidated %d times", e, n)
			}
		}
	})
}

// With a stage that is down, writers do not queue up to find out one by one.
func TestWritersShareFailure(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{StageTimeout: time.Second}, func(t *testing.T, r *rig) {
		r.objects.slow(time.Hour)
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				if err := r.Apply(t.Context(), event("s", fmt.Sprint("e", i))); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Apply = %v", err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("10 writers took %v to fail", took)
		}
	})
}

// A leader that leaves is no reason for those who wait to fail.
func TestLeaderLeaves(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.objects.slow(2 * time.Second)
		publish(t, r.queue, event("a", "a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			if err := r.Consume(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Consume of the leader = %v", err)
			}
		}()
		synctest.Wait()
		start := time.Now()
		if err := r.Consume(t.Context(), 1); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("Consume = %v after %v", err, time.Since(start))
		}
		wantCalls(t, r, "objects [a]", "objects [a]", "responses [a]")
		if strings.Contains(r.said.String(), "level=WARN") {
			t.Errorf("log: %s", r.said)
		}
	})
}

func TestConsumeObeysItsContext(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		publish(t, r.queue, event("a", "a"))
		if err := r.Consume(ended, 1); !errors.Is(err, context.Canceled) || r.queue.Len() != 1 {
			t.Errorf("Consume = %v, %d queued", err, r.queue.Len())
		}
		r.objects.slow(time.Minute)
		go func() { _ = r.Consume(t.Context(), 1) }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Consume(short, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Consume = %v", err)
		}
		r.objects.slow(0)
		if err := r.Consume(t.Context(), 1); err == nil { // the first round took 10 s, its StageTimeout
			t.Error("Consume = nil from a round that failed")
		}
		apply(t, r)
		if err := r.Consume(ended, 0); err != nil {
			t.Errorf("Consume of nothing = %v", err)
		}
	})
}

func TestApplyValidatesFirst(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		err := r.Apply(t.Context(), event("a", "a"), pipeline.Event{})
		if !errors.Is(err, pipeline.ErrEvent) || !strings.Contains(err.Error(), "event 2 of 2") || r.queue.Last() != 0 {
			t.Errorf("Apply = %v, last epoch %d", err, r.queue.Last())
		}
	})
}

// A duplicate waits for what it duplicates.
func TestApplyDuplicate(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		e := event("a", "a")
		r.objects.set(errDown)
		for range 2 {
			if err := r.Apply(t.Context(), e); !errors.Is(err, errDown) {
				t.Errorf("Apply = %v", err)
			}
		}
		r.objects.set(nil)
		apply(t, r, e)
		apply(t, r, e)
		wantCalls(t, r, "objects [a]", "objects [a]", "objects [a]", "responses [a]")
	})
}
