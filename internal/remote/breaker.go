package remote

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/calls"
)

const (
	breakerTrips = 5           // failures in a row that open the breaker
	breakerRest  = time.Second // how long it stays open before one call may try again
)

// breaker blocks calls to a tier that does not answer. It opens after breakerTrips failures in a
// row. After a rest, one call at a time tries again.
//
// One expired call with a short deadline proves nothing about the tier. But if breakerTrips calls
// in a row expire and no call was answered for a whole RemoteTimeout, the breaker opens, too.
//
// Times are nanoseconds, as returned by now. All methods may be called concurrently.
type breaker struct {
	now func() int64
	log *slog.Logger

	row      atomic.Int64 // failures since the last answer
	short    atomic.Int64 // expired calls since the last answer
	since    atomic.Int64 // when the first of those began, plus 1; 0 if there is none
	until    atomic.Int64 // 0 means closed; otherwise open before this time and half-open after it
	closedAt atomic.Int64 // failures of calls that began earlier do not count
}

// pass is the right to make one call.
type pass struct {
	begun int64
	try   int64 // the value of until while the call tries a half-open breaker; 0 if the breaker is closed
}

// enter asks for a pass. A half-open breaker grants one pass, and another when that call has taken
// as long as the rest.
func (b *breaker) enter() (p pass, ok bool) {
	p.begun = b.now()
	until := b.until.Load()
	if until == 0 {
		return p, true
	}
	p.try = p.begun + int64(breakerRest)
	if p.begun < until || !b.until.CompareAndSwap(until, p.try) {
		return p, false
	}
	b.changed("open", "half-open", nil)
	return p, true
}

// leave reports how a call with that pass and timeout ended, and why it failed. The log line names
// the reason only if the server denied the call.
func (b *breaker) leave(p pass, how calls.Ending, timeout time.Duration, why error) {
	now := b.now()
	switch {
	case how == calls.Answered:
		b.clear()
		if p.try != 0 && b.until.Swap(0) != 0 {
			b.closedAt.Store(now)
			b.changed("half-open", "closed", nil)
		}
	case p.try != 0 && how == calls.Canceled:
		b.until.CompareAndSwap(p.try, now) // the next caller may try immediately
	case p.try != 0:
		if b.until.CompareAndSwap(p.try, now+int64(breakerRest)) {
			b.changed("half-open", "open", why)
		}
	case p.begun < b.closedAt.Load():
	case how == calls.Failed && b.row.Add(1) >= breakerTrips,
		how == calls.Expired && b.silent(p, now, timeout):
		if b.until.CompareAndSwap(0, now+int64(breakerRest)) {
			b.changed("closed", "open", why)
		}
	}
}

// clear ends the rows of failures. It writes only what is not zero, because every answer calls it.
func (b *breaker) clear() {
	for _, n := range []*atomic.Int64{&b.row, &b.short, &b.since} {
		if n.Load() != 0 {
			n.Store(0)
		}
	}
}

// silent counts an expired call and reports whether the tier has been silent for too long.
func (b *breaker) silent(p pass, now int64, timeout time.Duration) bool {
	b.since.CompareAndSwap(0, p.begun+1)
	n, since := b.short.Add(1), b.since.Load()
	return n >= breakerTrips && since != 0 && now-since+1 >= int64(timeout)
}

func (b *breaker) changed(from, to string, why error) {
	attrs := []any{"from", from, "to", to}
	// Any other error may quote a value.
	if d, ok := errors.AsType[interface {
		error
		Denial() string
	}](why); ok {
		attrs = append(attrs, "reason", d.Denial())
	}
	b.log.Warn("cache: remote tier breaker", attrs...)
}

// String returns the state: "closed", "open" or "half-open".
func (b *breaker) String() string {
	switch until := b.until.Load(); {
	case until == 0:
		return "closed"
	case b.now() < until:
		return "open"
	}
	return "half-open"
}
