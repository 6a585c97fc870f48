package calls

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Ending says how a call under a [Deadline] ended.
type Ending uint8

// The endings of a call.
const (
	Answered Ending = iota
	Failed          // by an error, or by the call's own deadline
	Expired         // by the deadline of the caller, which was shorter
	Canceled        // because the caller left, or the work was cancelled; not a failure of the callee
)

// Left reports whether the call ended because of its caller.
func (e Ending) Left() bool { return e == Expired || e == Canceled }

// Deadline is the context of one call: its caller's context with a deadline. Package context could
// provide the same. But a Deadline makes a channel and a timer only on demand, and it knows whose
// deadline ended the call.
//
// It does not register with its parent. A waiter on Done sees the parent's cancellation only at the
// deadline; a call of Err sees it immediately. If the callee calls Done, the call becomes part of
// the work, and the end of the work cancels it.
//
// Make one with Start. It must not be copied.
type Deadline struct {
	Task
	context.Context // the caller's

	work    *Work
	at      time.Time
	callers bool // the caller's own deadline is the earlier one

	mu    sync.Mutex // protects the rest
	err   error
	done  chan struct{}
	timer *time.Timer
}

// Start begins a call under parent that may take as long as timeout. It returns the start time.
func (d *Deadline) Start(parent context.Context, timeout time.Duration, w *Work) (begun time.Time) {
	begun = time.Now()
	d.Context, d.work, d.at = parent, w, begun.Add(timeout)
	if at, ok := parent.Deadline(); ok && at.Before(d.at) {
		d.at, d.callers = at, true
	}
	return begun
}

// Deadline implements context.Context.
func (d *Deadline) Deadline() (time.Time, bool) { return d.at, true }

// Err implements context.Context.
func (d *Deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.Context.Err(); err != nil {
		d.endLocked(err)
	} else if !time.Now().Before(d.at) {
		d.endLocked(context.DeadlineExceeded)
	}
	return d.err
}

// Done implements context.Context.
func (d *Deadline) Done() <-chan struct{} {
	c, fresh := d.channel()
	if fresh && d.work != nil {
		d.work.GoOn(&d.Task, d) // without a lock: it may cancel d
		if d.ended() {          // the call has returned meanwhile
			d.work.End(&d.Task)
		}
	}
	return c
}

func (d *Deadline) channel() (c <-chan struct{}, fresh bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.done != nil:
	case d.err != nil:
		d.done = closedChan
	default:
		fresh = true
		d.done = make(chan struct{})
		d.timer = time.AfterFunc(time.Until(d.at), d.expire)
	}
	return d.done, fresh
}

func (d *Deadline) ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err != nil
}

func (d *Deadline) expire() { d.end(context.DeadlineExceeded) }

// Cancel ends the context. It implements [Canceler].
func (d *Deadline) Cancel() { d.end(context.Canceled) }

func (d *Deadline) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLocked(err)
}

func (d *Deadline) endLocked(err error) {
	if d.err != nil {
		return
	}
	d.err = err
	if d.timer != nil {
		d.timer.Stop()
		close(d.done)
	}
}

// Finish ends the context of a call that has returned err, and says how the call ended. The clock
// decides rather than the caller's context, whose timer may fire later than ours.
func (d *Deadline) Finish(err error) Ending {
	over := !time.Now().Before(d.at)
	d.mu.Lock()
	canceled := errors.Is(d.err, context.Canceled)
	registered := d.timer != nil
	d.endLocked(context.Canceled)
	d.mu.Unlock()
	if registered && d.work != nil {
		d.work.End(&d.Task)
	}
	switch parent := d.Context.Err(); {
	case err == nil:
		return Answered
	case over && !d.callers:
		return Failed
	case canceled || parent != nil && parent != context.DeadlineExceeded:
		return Canceled
	case over || parent != nil:
		return Expired
	}
	return Failed
}
