package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

func TestSwitch(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{Off: true, Window: time.Second}, func(t *testing.T, r *rig) {
		go r.Run(t.Context())
		apply(t, r, event("a", "a"))
		publish(t, r.queue, event("b", "b"))
		if err := r.Consume(t.Context(), 1); err != nil {
			t.Error(err)
		}
		advance(5 * time.Second)
		wantCalls(t, r)
		if err := errors.Join(r.Enable(t.Context()), r.Enable(t.Context())); err != nil {
			t.Error(err)
		}
		wantCalls(t, r, "objects [b] all", "responses [b] all")
		r.warm.set(func(ctx context.Context, _ *pipeline.Warmup) error { return nap(ctx, time.Minute) })
		apply(t, r, warming(event("c", "c"), "1", "2", "3"))
		wantCalls(t, r, "objects [c]", "responses [c]")
		advance(time.Second)
		r.Disable()
		synctest.Wait()
		apply(t, r, event("d", "d"))
		wantCalls(t, r)
		if s := r.Stats(); s.Skipped != 3 || s.Waiting+s.Warming != 0 {
			t.Errorf("Stats = %+v", s)
		}
	})
}

func TestCloseConsumesWhatIsLeft(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{Batch: 1}, func(t *testing.T, r *rig) {
		stopped := make(chan struct{})
		go func() {
			r.Run(t.Context())
			close(stopped)
		}()
		r.warm.set(func(ctx context.Context, _ *pipeline.Warmup) error { return nap(ctx, 20*time.Second) })
		apply(t, r, warming(event("a", "a"), "1", "2", "3"))
		advance(time.Second)
		r.calls.take()
		publish(t, r.queue, event("b", "b"), warming(event("c", "c"), "4"))
		start := time.Now()
		if err := r.Close(t.Context()); err != nil {
			t.Errorf("Close = %v", err)
		}
		<-stopped
		wantCalls(t, r, "objects [b]", "responses [b]", "objects [c]", "responses [c]")
		wantWarmed(t, r, "1@1", "2@1") // those that ran
		if took := time.Since(start); took != 19*time.Second+250*time.Millisecond {
			t.Errorf("Close took %v", took)
		}
		if err := errors.Join(r.Close(t.Context()), nil); err != nil {
			t.Errorf("second Close = %v", err)
		}
		for _, err := range []error{r.Apply(t.Context(), event("d", "d")), r.Consume(t.Context(), 1)} {
			if !errors.Is(err, pipeline.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}

func TestCloseCancelsWhatWillNotEnd(t *testing.T) {
	bubble(t, anyQueue, plain, func(t *testing.T, r *rig) {
		r.warm.set(func(ctx context.Context, _ *pipeline.Warmup) error { return nap(ctx, time.Hour) })
		apply(t, r, warming(event("a", "a"), "1"))
		advance(time.Second)
		r.objects.slow(time.Hour)
		publish(t, r.queue, event("b", "b"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close = %v", err)
		}
		synctest.Wait()
		if s := r.Stats(); s.Warming != 0 || s.Skipped != 1 {
			t.Errorf("Stats = %+v", s)
		}
	})
}

func TestNewConsumerNamesFaults(t *testing.T) {
	_, err := pipeline.NewConsumer(pipeline.NewQueue(anyQueue), pipeline.Config{
		Batch: -1, Window: -1, StageTimeout: -1, WarmTimeout: -1, MaxWarming: -1, MaxWarms: -1, Recent: -1,
		Stages: []pipeline.Stage{{Name: "a"}, {Name: "a"}, {}},
	})
	for _, want := range []string{"Batch", "Window", "StageTimeout", "WarmTimeout", "MaxWarming", "MaxWarms", "Recent", `stage 1: name "a"`, `stage 2: name ""`, "stage 0: Invalidate is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	if _, err = pipeline.NewConsumer(pipeline.NewQueue(anyQueue), pipeline.Config{}); err == nil || !strings.Contains(err.Error(), "Stages is empty") {
		t.Errorf("without stages: %v", err)
	}
}

func TestRecent(t *testing.T) {
	bubble(t, anyQueue, pipeline.Config{Recent: 2}, func(t *testing.T, r *rig) {
		apply(t, r, event("z", "z"))
		r.objects.set(errDown)
		_ = r.Apply(t.Context(), deleting(event("a", "a", "b")), warming(event("b", "c"), "w"))
		r.objects.set(nil)
		r.objects.slow(time.Second)
		start := time.Now()
		apply(t, r, event("c", "c"))
		got := r.Recent()
		plan := pipeline.Record{First: 4, Last: 4, At: start.Add(time.Second), Took: time.Second, Trigger: pipeline.ByWrite, Attempt: 1, Events: 1, Subjects: 1, Entities: 1, Sample: []string{"c"}}
		again := pipeline.Record{First: 2, Last: 3, At: start, Took: time.Second, Trigger: pipeline.ByWrite, Attempt: 2, Events: 2, Subjects: 2, Deleted: 1, Entities: 3, Warms: 1, Sample: []string{"a", "b", "c"}}
		if diff := cmp.Diff([]pipeline.Record{plan, again}, got); diff != "" {
			t.Errorf("Recent (-want +got):\n%s", diff)
		}
	})
}
