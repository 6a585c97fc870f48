package follow

import (
	"math"
	"sync/atomic"
	"time"
)

// Lease says until when a process may trust what it has cached: for a bound
// after the moment it last asked the log what it had missed, and was told all of
// it. The zero Lease has never been confirmed. All methods may be called
// concurrently.
//
// Times are nanoseconds of the owner's monotonic clock, from an origin of his
// choice. No wall clock is part of it, and nobody else's clock.
//
// After Gray and Cheriton, Leases, SOSP 1989: whatever fails costs
// availability, never correctness.
type Lease struct {
	confirmed atomic.Int64 // plus one, so that zero means never
	bound     int64
}

// Without is the lease of a process that follows no log: it never ends.
func (l *Lease) Without() { l.confirmed.Store(math.MaxInt64) }

// Confirmed returns when the lease was last confirmed; false: never, or it
// needs no confirming.
func (l *Lease) Confirmed() (at int64, ok bool) {
	c := l.confirmed.Load()
	return c - 1, c != 0 && c != math.MaxInt64
}

// Read returns what [Lease.Covers] is asked with. A reader takes it before it
// looks at any fence: a fence is stored before the lease is extended, so who
// sees the extension sees the fence. The other way round, a fence could slip
// in between.
func (l *Lease) Read() int64 { return l.confirmed.Load() }

// Covers reports whether a lease that was read covers the moment now.
func (l *Lease) Covers(read, now int64) bool { return read != 0 && now-read < l.bound }

// Within is Covers with a bound of the reader's own, if that is shorter.
func (l *Lease) Within(read, now int64, bound time.Duration) bool {
	return read != 0 && now-read < min(l.bound, int64(bound))
}

// extend says that a complete answer to a question asked at the time at has
// been applied.
func (l *Lease) extend(at int64) {
	for {
		old := l.confirmed.Load()
		if old > at || l.confirmed.CompareAndSwap(old, at+1) {
			return
		}
	}
}
