package calls

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Whether the caller or the deadline has ended a call, and whether the end of all work ends it.
func TestDeadlineEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		caller time.Duration // its deadline; 0: none
		during func(ctx context.Context, w *Work, leave func())
		want   Ending
	}{
		"an error":              {0, func(context.Context, *Work, func()) {}, Failed},
		"its own deadline":      {0, func(ctx context.Context, _ *Work, _ func()) { <-ctx.Done() }, Failed},
		"the caller's deadline": {time.Second, func(ctx context.Context, _ *Work, _ func()) { <-ctx.Done() }, Expired},
		"the caller left":       {0, func(_ context.Context, _ *Work, leave func()) { leave() }, Canceled},
		"the work is over": {0, func(ctx context.Context, w *Work, _ func()) {
			over, cancel := context.WithCancel(context.Background())
			cancel()
			done := ctx.Done()
			_, _ = w.Close(over, func() {})
			<-done
		}, Canceled},
		"the work was over": {0, func(ctx context.Context, w *Work, _ func()) {
			over, cancel := context.WithCancel(context.Background())
			cancel()
			var other Scope
			w.Begin(&other.Task, &other)
			_, _ = w.Close(over, func() {})
			<-ctx.Done()
		}, Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithCancel(context.Background())
				defer leave()
				if tt.caller > 0 {
					ctx, leave = context.WithTimeout(ctx, tt.caller)
					defer leave()
				}
				var w Work
				var d Deadline
				d.Start(ctx, 2*time.Second, &w)
				tt.during(&d, &w, leave)
				if got := d.Finish(errSome); got != tt.want {
					t.Errorf("%v, want %v", got, tt.want)
				}
				if w.first != nil && w.first.who == Canceler(&d) {
					t.Error("the call is still part of the work")
				}
				if d.Err() == nil {
					t.Error("the context has not ended")
				}
			})
		})
	}
}

// A call that was answered counts as answered, even if the deadline has passed since.
func TestAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Deadline
		d.Start(context.Background(), time.Second, nil)
		if at, ok := d.Deadline(); !ok || time.Until(at) != time.Second || d.Err() != nil {
			t.Error("it does not begin with its deadline")
		}
		<-time.After(2 * time.Second)
		if err := d.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after its deadline Err is %v", err)
		}
		if d.Finish(nil) != Answered {
			t.Error("an answer does not count")
		}
		<-d.Done()
	})
}
