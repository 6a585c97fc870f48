// Package pool runs jobs that are claimed from somewhere, a few at a time, for as long
// as the program runs, and stops without losing any.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// DefaultDrain is how long jobs may go on after a pool was told to stop.
const DefaultDrain = 30 * time.Second

// grace is how long jobs that were cut may take to notice.
const grace = 5 * time.Second

// ErrCut says that jobs were cut short at the end: they took longer than Drain, or
// somebody was in a hurry.
var ErrCut = errors.New("pool: jobs were cut short")

// Pool claims jobs and does them. There are no batches: whenever a job ends, another
// may be claimed, so that a slow one holds up nobody as long as there is room. Claim
// and Do are required.
type Pool[J any] struct {
	// Claim returns at most n jobs, and whether there were more for which there was
	// no room. It is called by one goroutine at a time. An error is logged, and
	// tried again at the next tick.
	Claim func(ctx context.Context, n int) (jobs []J, more bool, err error)

	// Do does a job. It is called in a goroutine of its own and should return soon
	// after ctx ends, which is not when the pool is told to stop, but when its
	// jobs are cut.
	Do func(ctx context.Context, job J)

	Size  int           // how many jobs run at a time. 0: 1
	Tick  time.Duration // how often to claim while nothing ends. 0: a minute
	Drain time.Duration // see DefaultDrain. 0: that
	Log   *slog.Logger  // Nil: slog.Default
}

// Run claims at once, at every tick, and when a job ends and there was no room before.
// When ctx ends it claims no more and waits for what is running: as long as Drain,
// or until kill is closed; then jobs are cut, and the error is [ErrCut]. A nil kill
// never is.
func (p Pool[J]) Run(ctx context.Context, kill <-chan struct{}) error {
	r := p.start(ctx)
	defer r.cut()
	if p.Tick == 0 {
		p.Tick = time.Minute
	}
	tick := time.NewTicker(p.Tick)
	defer tick.Stop()
	for {
		if err := r.fill(ctx); err != nil {
			r.Log.ErrorContext(ctx, "claiming failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return r.drain(kill)
		case <-tick.C:
			r.more = true
		case <-r.done:
			r.running--
		}
	}
}

// RunAll claims until there is nothing left to claim, and returns when all of it is
// done. It stops as Run does. An error of Claim is returned when what was running is
// done.
func (p Pool[J]) RunAll(ctx context.Context, kill <-chan struct{}) error {
	r := p.start(ctx)
	defer r.cut()
	var failed error
	for {
		failed = errors.Join(failed, r.fill(ctx))
		if r.running == 0 { // also if there is more, which somebody else is about to do
			return failed
		}
		select {
		case <-ctx.Done():
			return errors.Join(failed, r.drain(kill))
		case <-r.done:
			r.running--
		}
	}
}

// run is one call of Run. Only its goroutine touches it.
type run[J any] struct {
	Pool[J]
	work    context.Context // of the jobs: outlives the caller's
	cut     context.CancelFunc
	done    chan struct{}
	running int
	more    bool // there may be something to claim
}

func (p Pool[J]) start(ctx context.Context) *run[J] {
	p.Size = max(p.Size, 1)
	if p.Log == nil {
		p.Log = slog.Default()
	}
	if p.Drain == 0 {
		p.Drain = DefaultDrain
	}
	r := &run[J]{Pool: p, done: make(chan struct{}, p.Size), more: true}
	r.work, r.cut = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// fill claims as many jobs as there is room for, and no more: a job that is claimed and
// has to wait would keep others from it.
func (r *run[J]) fill(ctx context.Context) error {
	if !r.more || r.running == r.Size || ctx.Err() != nil {
		return nil
	}
	jobs, more, err := r.Claim(ctx, r.Size-r.running)
	r.more = more && err == nil
	for _, job := range jobs {
		r.running++
		go func() {
			defer func() { r.done <- struct{}{} }()
			r.Do(r.work, job)
		}()
	}
	if ctx.Err() != nil {
		return nil // told to stop in the middle of it
	}
	return err
}

// drain waits for the jobs that are running, and cuts them if that takes too long. A
// job that does not notice is left behind: the program is about to end.
func (r *run[J]) drain(kill <-chan struct{}) error {
	if r.wait(r.Drain, kill) {
		return nil
	}
	r.cut()
	r.wait(grace, nil)
	return ErrCut
}

// wait reports whether all jobs ended within d and before kill was closed.
func (r *run[J]) wait(d time.Duration, kill <-chan struct{}) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	for r.running > 0 {
		select {
		case <-r.done:
			r.running--
		case <-kill:
			return false
		case <-limit.C:
			return false
		}
	}
	return true
}

// Every calls fn now and then every d until ctx ends.
func Every(ctx context.Context, d time.Duration, fn func(ctx context.Context)) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for ctx.Err() == nil {
		fn(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
