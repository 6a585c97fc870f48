// Package pool claims jobs and runs several at a time.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	drain = 30 * time.Second // how long jobs may continue after a stop
	grace = 5 * time.Second  // how long an interrupted job may take to end
)

// ErrCut means that a pool was stopped before its jobs had ended.
var ErrCut = errors.New("pool: the work was interrupted; the next run does the rest")

// Pool claims jobs and runs them. When a job ends, it claims another. All fields are required.
type Pool[J any] struct {
	// Claim returns at most n jobs, and whether there are more. One goroutine calls it.
	Claim func(ctx context.Context, n int) (jobs []J, more bool, err error)
	// Do runs a job in its own goroutine. Its ctx ends when the pool interrupts the job.
	Do   func(ctx context.Context, job J)
	Size int           // how many jobs run at a time
	Tick time.Duration // how often to claim when no job ends
	Log  *slog.Logger
}

// Run claims when it starts, at every tick, and when a job ends and more jobs can be claimed. When
// ctx ends, it waits for the running jobs until kill is closed, at most 30 seconds. Then it
// interrupts them.
func (p Pool[J]) Run(ctx context.Context, kill <-chan struct{}) error {
	tick := time.NewTicker(p.Tick)
	defer tick.Stop()
	return p.run(ctx, kill, tick.C)
}

// RunAll returns when all jobs are done, with the errors of Claim. It stops as Run does.
func (p Pool[J]) RunAll(ctx context.Context, kill <-chan struct{}) error {
	return p.run(ctx, kill, nil)
}

func (p Pool[J]) run(ctx context.Context, kill <-chan struct{}, tick <-chan time.Time) (err error) {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	done, running, more := make(chan struct{}, p.Size), 0, true // more: another claim may find jobs
	for ctx.Err() == nil {
		if more && running < p.Size {
			jobs, rest, failed := p.Claim(ctx, p.Size-running)
			for _, job := range jobs {
				running++
				go func() {
					defer func() { done <- struct{}{} }()
					p.Do(work, job)
				}()
			}
			if ctx.Err() != nil && failed != nil {
				break // ctx ended during the claim
			}
			if more = rest && failed == nil; failed != nil && tick != nil {
				p.Log.ErrorContext(ctx, "claiming failed", "err", failed)
			} else {
				err = errors.Join(err, failed)
			}
		}
		if tick == nil && running == 0 && ctx.Err() == nil {
			return err // another pool may be running the rest
		}
		select {
		case <-ctx.Done():
		case <-tick:
			more = true
		case <-done:
			running--
		}
	}
	left := wait(done, running, drain, kill)
	if left > 0 {
		cut()
		wait(done, left, grace, nil) // a job that ignores ctx is abandoned: the program ends soon
	}
	if left > 0 || tick == nil && more {
		err = errors.Join(err, ErrCut)
	}
	return err
}

// wait waits at most d for the running jobs, or until kill is closed. It returns how many still
// run.
func wait(done <-chan struct{}, running int, d time.Duration, kill <-chan struct{}) int {
	limit := time.NewTimer(d)
	defer limit.Stop()
	for running > 0 {
		select {
		case <-done:
			running--
		case <-kill:
			return running
		case <-limit.C:
			return running
		}
	}
	return 0
}
