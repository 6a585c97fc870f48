package cache

import (
	"context"
	"sync"
	"time"
)

// deadline is the context of one remote call: that of its caller, with a deadline. Package
// context could make the same; this one makes a channel and a timer only when the tier
// asks for them. It also knows whose deadline it is.
//
// It does not register with its parent. A tier that waits for Done sees the parent's
// cancellation at the deadline, and a tier that asks Err sees it at once.
type deadline struct {
	context.Context // the caller's

	at      time.Time
	callers bool // the caller's own deadline comes first

	mu    sync.Mutex // protects the rest
	err   error
	done  chan struct{}
	timer *time.Timer
}

func newDeadline(parent context.Context, timeout time.Duration) *deadline {
	d := &deadline{Context: parent, at: time.Now().Add(timeout)}
	if at, ok := parent.Deadline(); ok && at.Before(d.at) {
		d.at, d.callers = at, true
	}
	return d
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

// Err implements context.Context.
func (d *deadline) Err() error {
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
func (d *deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.done != nil:
	case d.err != nil:
		d.done = closedChan
	default:
		d.done = make(chan struct{})
		d.timer = time.AfterFunc(time.Until(d.at), func() { d.end(context.DeadlineExceeded) })
	}
	return d.done
}

func (d *deadline) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLocked(err)
}

func (d *deadline) endLocked(err error) {
	if d.err != nil {
		return
	}
	d.err = err
	if d.timer != nil {
		d.timer.Stop()
		close(d.done)
	}
}

// finish ends the context of a call that has returned err, and says how it ended. The
// clock decides, not the caller's context: its timer may fire later than ours.
func (d *deadline) finish(err error) ending {
	over := !time.Now().Before(d.at)
	d.end(context.Canceled)
	switch parent := d.Context.Err(); {
	case err == nil:
		return answered
	case over && !d.callers:
		return failed
	case parent != nil && parent != context.DeadlineExceeded:
		return canceled
	case over || parent != nil:
		return expired
	}
	return failed
}
