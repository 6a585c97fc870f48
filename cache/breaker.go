package cache

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	breakerTrips = 5           // failures in a row that open it
	breakerRest  = time.Second // until one call may try again
)

// breaker leaves a tier alone that does not answer. It is closed at first. Five
// failures in a row open it. After a rest, one call may try; its success closes the
// breaker, and its failure opens it for another rest.
//
// A call can be ended by its own deadline or by its caller's. A caller with less patience
// than the policy proves little: five such callers in a row may have come within a
// millisecond. So their calls open the breaker only when no call has succeeded for as long
// as a call may take. A caller that cancels proves nothing.
type breaker struct {
	now     func() int64
	changed func(from, to string)

	row      atomic.Int64 // failures since the last success
	short    atomic.Int64 // calls since the last success that ended with their callers' deadlines
	since    atomic.Int64 // when the first of those began
	until    atomic.Int64 // 0: closed; later than now: open; else: half-open
	closedAt atomic.Int64 // when it was closed last; failures of earlier calls do not count
}

// callEnd is how a remote call ended.
type callEnd uint8

const (
	callOK     callEnd = iota
	callFailed         // by an error or by its own deadline
	callShort          // by its caller's deadline, which was the earlier one
	callLeft           // by its caller's cancellation
)

// endOf says how a call ended that began at begun, and may take so long.
func endOf(parent context.Context, begun time.Time, timeout time.Duration, err error) callEnd {
	if err == nil {
		return callOK
	}
	now := time.Now()
	if now.Sub(begun) >= timeout {
		return callFailed
	}
	// Not by Err alone: the socket may notice the deadline before the context's timer.
	if deadline, ok := parent.Deadline(); ok && !now.Before(deadline) {
		return callShort
	}
	if parent.Err() != nil {
		return callLeft
	}
	return callFailed
}

// enter reports whether a call may be made. Each that is made is ended by leave.
func (b *breaker) enter() bool {
	until := b.until.Load()
	if until == 0 {
		return true
	}
	now := b.now()
	return now >= until && b.until.CompareAndSwap(until, now+int64(breakerRest)) // of many, one tries
}

// leave takes down how a call ended that began at begun.
func (b *breaker) leave(end callEnd, begun int64, timeout time.Duration) {
	now := b.now()
	switch end {
	case callOK:
		b.row.Store(0)
		b.short.Store(0)
		if b.until.Load() != 0 && b.until.Swap(0) != 0 {
			b.closedAt.Store(now)
			b.changed(breakerHalfOpen, breakerClosed)
		}
	case callFailed:
		if begun >= b.closedAt.Load() && b.row.Add(1) >= breakerTrips {
			b.open(now)
		}
	case callShort:
		n := b.short.Add(1)
		if n == 1 {
			b.since.Store(begun)
		}
		if n >= breakerTrips && now-b.since.Load() >= int64(timeout) {
			b.open(now)
		}
	case callLeft:
		if until := b.until.Load(); until != 0 {
			b.until.CompareAndSwap(until, now) // the next caller may try
		}
	}
}

func (b *breaker) open(now int64) {
	if b.until.Swap(now+int64(breakerRest)) == 0 {
		b.changed(breakerClosed, breakerOpen)
	}
}

// The states of a breaker, as Stats and the log name them.
const (
	breakerClosed   = "closed"
	breakerOpen     = "open"
	breakerHalfOpen = "half-open"
)

func (b *breaker) state() string {
	switch until := b.until.Load(); {
	case until == 0:
		return breakerClosed
	case b.now() < until:
		return breakerOpen
	}
	return breakerHalfOpen
}
