package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// TestConcurrently calls everything at once, for the race detector, and ends
// with everything applied and nothing under way.
func TestConcurrently(t *testing.T) {
	cfg := pipeline.Config{Window: 10 * time.Millisecond, Debounce: time.Millisecond, Batch: 3, MaxWarming: 4}
	bubble(t, pipeline.QueueConfig{MaxEvents: 20, MaxKeys: 50}, cfg, func(t *testing.T, r *rig) {
		r.warm.entities = []string{"s1", "s2"}
		r.warm.set(slowWarm(3 * time.Millisecond))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { r.Run(ctx) })
		again := func(every time.Duration, f func(i int)) {
			wg.Go(func() {
				for i := range 200 {
					f(i)
					_ = nap(t.Context(), every)
				}
			})
		}
		for w := range 4 {
			again(time.Millisecond, func(i int) {
				s := fmt.Sprint("s", (i+w)%5)
				e := warming(event(s, s), "w"+s, "home")
				e.Deleted = i%3 == 0
				short, cancel := context.WithTimeout(t.Context(), time.Duration(i%4)*time.Millisecond)
				defer cancel()
				if err := r.Apply(short, e); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errDown) {
					t.Errorf("Apply = %v", err)
				}
			})
		}
		again(time.Millisecond, func(i int) { publish(t, r.queue, event("behind", fmt.Sprint(i))) })
		again(3*time.Millisecond, func(i int) { r.respond.set([]error{nil, errDown, nil}[i%3]) })
		again(2*time.Millisecond, func(i int) { r.objects.slow(time.Duration(i%2) * time.Millisecond) })
		again(time.Millisecond, func(int) { r.Stats(); r.Recent(); r.Applied() })
		again(20*time.Millisecond, func(int) {
			r.queue.PublishAll()
			r.Disable()
			if err := r.Enable(t.Context()); err != nil && !errors.Is(err, errDown) {
				t.Errorf("Enable = %v", err)
			}
		})
		advance(10 * time.Second)
		r.respond.set(nil)
		advance(time.Second)
		cancel()
		wg.Wait()
		if s := r.Stats(); s.Applied != s.Queue.Last || s.Queue.Len+s.Waiting+s.Warming != 0 || s.Panics != 0 {
			t.Errorf("Stats = %+v", s)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
