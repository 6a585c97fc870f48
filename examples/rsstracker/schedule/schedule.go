// Package schedule runs jobs by cron expressions. The caller knows when each job last ran.
package schedule

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
)

// Job is a function with a schedule.
type Job struct {
	Name     string
	Schedule cron.Schedule
	Jitter   time.Duration // each run starts later by a fixed part of it
	Last     time.Time     // when the last run began; zero: never

	// Run is not called again before it has returned.
	Run func(ctx context.Context)
}

// Run runs the jobs until ctx ends, and then waits for the running ones. It runs at once a
// job that is overdue or never ran.
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
		if ctx.Err() != nil { // a select with both cases ready picks any
			return
		}
		last = now()
		j.Run(ctx)
	}
}

// next returns the time of the next run. If a scheduled time has passed since last, it is now.
func (j Job) next(last, now time.Time) time.Time {
	if last.IsZero() {
		return now
	}
	if last.After(now) { // the clock was set back
		last = now
	}
	at := j.Schedule.Next(last.Add(-j.offset())).Add(j.offset())
	if at.Before(now) {
		return now // one run, however many were missed
	}
	return at
}

// offset spreads the jobs of one schedule. It is the same for each run of a job.
func (j Job) offset() time.Duration {
	if j.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(j.Name))
	return time.Duration(h.Sum64() % uint64(j.Jitter))
}
