// Package schedule runs jobs by cron expressions. The caller knows when a job last ran.
package schedule

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
)

// Job is something that is run again and again.
type Job struct {
	Name     string
	Schedule cron.Schedule
	Jitter   time.Duration // each run is later than scheduled by a part of it, always the same
	Last     time.Time     // when the last run began; zero: never

	// It is not called again before it has returned.
	Run func(ctx context.Context)
}

// Run runs jobs until ctx ends, and waits for those under way. A job that is overdue, or never ran, is run at once.
func Run(ctx context.Context, jobs []Job, now func() time.Time) {
	var wg sync.WaitGroup
	for _, j := range jobs {
		wg.Go(func() { j.loop(ctx, now) })
	}
	wg.Wait()
}

func (j Job) loop(ctx context.Context, now func() time.Time) {
	for last := j.Last; ; {
		select {
		case <-time.After(j.next(last, now()).Sub(now())):
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // also when both are ready
			return
		}
		last = now()
		j.Run(ctx)
	}
}

// next returns when to run next: now if a time has passed since last.
func (j Job) next(last, now time.Time) time.Time {
	if last.IsZero() {
		return now
	}
	if last.After(now) { // the clock was set back
		last = now
	}
	at := j.Schedule.Next(last.Add(-j.offset())).Add(j.offset())
	if at.Before(now) {
		return now // once, however many there were
	}
	return at
}

// offset spreads jobs with one schedule. It is the same each time.
func (j Job) offset() time.Duration {
	if j.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(j.Name))
	return time.Duration(h.Sum64() % uint64(j.Jitter))
}
