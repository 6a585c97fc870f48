// Package schedule runs jobs by cron expressions. Nothing is remembered here: when a
// job last ran is in the database, so that a restart neither repeats what was done nor
// skips what was due.
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

	// Run makes one run. It is not called again before it has returned.
	Run func(ctx context.Context)
}

// atOnce is how many jobs run at a time.
const atOnce = 4

// Run runs jobs until ctx ends, and returns when those under way have returned. A job
// that was due while the program did not run, or never ran, is run at once; one whose
// times pass while it still runs is run once more when it has returned. Now is the
// clock, in whose zone schedules are read that name none.
func Run(ctx context.Context, jobs []Job, now func() time.Time) {
	turns := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, j := range jobs {
		wg.Go(func() { j.loop(ctx, turns, now) })
	}
	wg.Wait()
}

func (j Job) loop(ctx context.Context, turns chan struct{}, now func() time.Time) {
	for last := j.Last; ; {
		if !wait(ctx, j.next(last, now()).Sub(now())) {
			return
		}
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return
		}
		last = now()
		j.Run(ctx)
		<-turns
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

// offset is how much later than scheduled the job runs. It spreads jobs with one
// schedule, and is the same each time, or the time between two runs would vary.
func (j Job) offset() time.Duration {
	if j.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(j.Name))
	return time.Duration(h.Sum64() % uint64(j.Jitter))
}

// wait waits for d, and reports false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
