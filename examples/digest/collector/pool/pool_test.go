package pool_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector/pool"
)

// queue provides jobs, which are durations.
type queue struct {
	mu    sync.Mutex
	jobs  []time.Duration
	calls int
	fail  error
}

func (q *queue) add(jobs ...time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, jobs...)
}

func (q *queue) claim(_ context.Context, n int) ([]time.Duration, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls++
	if q.fail != nil {
		return nil, false, q.fail
	}
	got := slices.Clone(q.jobs[:min(n, len(q.jobs))])
	q.jobs = q.jobs[len(got):]
	return got, len(q.jobs) > 0, nil
}

// work returns a Do that waits for the job's duration, and its counters.
func work() (do func(context.Context, time.Duration), done, cut, most *atomic.Int64) {
	done, cut, most = new(atomic.Int64), new(atomic.Int64), new(atomic.Int64)
	var mu sync.Mutex
	var running atomic.Int64
	return func(ctx context.Context, d time.Duration) {
		mu.Lock()
		most.Store(max(most.Load(), running.Add(1)))
		mu.Unlock()
		defer running.Add(-1)
		select {
		case <-time.After(d):
			done.Add(1)
		case <-ctx.Done():
			cut.Add(1)
		}
	}, done, cut, most
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// C-E6: one job takes an hour, and a hundred others do not wait for it.
func TestNoBatchBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		q.add(time.Hour)
		for range 100 {
			q.add(time.Second)
		}
		do, done, _, most := work()
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute+time.Second, stop)
		start := time.Now()
		err := pool.Pool[time.Duration]{Claim: q.claim, Do: do, Size: 3, Tick: time.Minute, Log: quiet()}.Run(ctx, nil)
		if done.Load() != 100 || most.Load() != 3 {
			t.Errorf("%d jobs are done, %d at a time; want 100 and 3", done.Load(), most.Load())
		}
		if !errors.Is(err, pool.ErrCut) || time.Since(start) != 91*time.Second {
			t.Errorf("stopped after %v with %v; want 91 s (30 s after the stop) and ErrCut", time.Since(start), err)
		}
	})
}

func TestClaimsAtTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		do, done, _, _ := work()
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute+time.Second)
		defer stop()
		time.AfterFunc(5*time.Minute+30*time.Second, func() { q.add(time.Second) })
		if err := (pool.Pool[time.Duration]{Claim: q.claim, Do: do, Size: 3, Tick: time.Minute, Log: quiet()}).Run(ctx, nil); err != nil {
			t.Error(err)
		}
		if q.calls != 11 || done.Load() != 1 {
			t.Errorf("%d claims, %d jobs; want 11 (at once and at ten ticks) and 1", q.calls, done.Load())
		}
	})
}

func TestClaimErrorIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{fail: errors.New("database is busy")}
		q.add(time.Second)
		do, done, _, _ := work()
		p := pool.Pool[time.Duration]{Claim: q.claim, Do: do, Size: 1, Tick: time.Minute, Log: quiet()}
		if err := p.RunAll(t.Context(), nil); !errors.Is(err, q.fail) {
			t.Errorf("RunAll = %v, want the error of Claim", err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 90*time.Second)
		defer stop()
		time.AfterFunc(30*time.Second, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.fail = nil
		})
		if err := p.Run(ctx, nil); err != nil || done.Load() != 1 {
			t.Errorf("Run = %v with %d jobs done, want 1", err, done.Load())
		}
	})
}

func TestRunAllEndsWhenNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		q.add(3*time.Second, time.Second, time.Second, time.Second, time.Second)
		do, done, _, _ := work()
		start := time.Now()
		err := pool.Pool[time.Duration]{Claim: q.claim, Do: do, Size: 2, Tick: time.Minute, Log: quiet()}.RunAll(t.Context(), nil)
		if err != nil || done.Load() != 5 || time.Since(start) != 4*time.Second {
			t.Errorf("RunAll = %v after %v with %d jobs done; want 5 after 4 s", err, time.Since(start), done.Load())
		}
	})
}

// A stopped RunAll reports whether its work was done, for the status of a cron job.
func TestRunAllStopped(t *testing.T) {
	for _, tt := range []struct {
		name string
		jobs []time.Duration
		stop time.Duration
		err  error
	}{
		{"before it began", []time.Duration{time.Second}, 0, pool.ErrCut},
		{"while the last ones run", []time.Duration{12 * time.Second, 12 * time.Second}, 10 * time.Second, nil},
		{"while more wait", []time.Duration{12 * time.Second, 12 * time.Second, time.Second}, 10 * time.Second, pool.ErrCut},
		{"and one takes too long", []time.Duration{time.Hour}, 10 * time.Second, pool.ErrCut},
		{"after it had ended", []time.Duration{time.Second}, 10 * time.Second, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &queue{}
				q.add(tt.jobs...)
				do, _, _, _ := work()
				ctx, stop := context.WithTimeout(t.Context(), tt.stop)
				defer stop()
				if err := (pool.Pool[time.Duration]{Claim: q.claim, Do: do, Size: 2, Tick: time.Minute, Log: quiet()}).RunAll(ctx, nil); !errors.Is(err, tt.err) {
					t.Errorf("RunAll = %v, want %v", err, tt.err)
				}
			})
		})
	}
}

func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		name      string
		jobs      []time.Duration
		kill      time.Duration // after the stop; 0: never
		took      time.Duration // after the stop
		done, cut int64
		err       error
	}{
		{"idle", nil, 0, 0, 0, 0, nil},
		{"waits for what is running", []time.Duration{12 * time.Second, 20 * time.Second}, 0, 10 * time.Second, 2, 0, nil},
		{"and for 30 s at most", []time.Duration{12 * time.Second, time.Hour}, 0, 30 * time.Second, 1, 1, pool.ErrCut},
		{"a second signal forces", []time.Duration{12 * time.Second, time.Hour}, 5 * time.Second, 5 * time.Second, 1, 1, pool.ErrCut},
		{"claims no more", []time.Duration{12 * time.Second, 12 * time.Second, time.Second, time.Second}, 0, 2 * time.Second, 2, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &queue{}
				q.add(tt.jobs...)
				do, done, cut, _ := work()
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
				defer stop()
				kill := make(chan struct{})
				if tt.kill > 0 {
					time.AfterFunc(10*time.Second+tt.kill, func() { close(kill) })
				}
				start := time.Now()
				err := pool.Pool[time.Duration]{Claim: q.claim, Do: do, Size: 2, Tick: time.Minute, Log: quiet()}.Run(ctx, kill)
				if took := time.Since(start) - 10*time.Second; !errors.Is(err, tt.err) || took != tt.took {
					t.Errorf("Run = %v, %v after the stop; want %v, %v", err, took, tt.err, tt.took)
				}
				if done.Load() != tt.done || cut.Load() != tt.cut {
					t.Errorf("%d done and %d cut, want %d and %d", done.Load(), cut.Load(), tt.done, tt.cut)
				}
			})
		})
	}
}

// A job that ignores its context is abandoned. Otherwise the program would not end.
func TestDeafJobIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		q.add(time.Second)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		deaf := make(chan struct{})
		start := time.Now()
		err := pool.Pool[time.Duration]{Claim: q.claim, Do: func(context.Context, time.Duration) { <-deaf }, Size: 1, Tick: time.Minute, Log: quiet()}.Run(ctx, nil)
		if took := time.Since(start); !errors.Is(err, pool.ErrCut) || took != 36*time.Second {
			t.Errorf("Run = %v after %v, want ErrCut after 36 s", err, took)
		}
		close(deaf)
	})
}
