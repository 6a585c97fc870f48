package follow

import (
	"math"
	"sync/atomic"
	"time"
)

// Lease says until when a process may trust what it has cached: for one bound after the moment at
// which it last asked the log what it had missed, and got a complete answer. The zero Lease has
// never been confirmed. All methods may be called concurrently.
//
// Times are nanoseconds of the owner's monotonic clock, from an origin that the owner chooses. No
// wall clock and no other process's clock is involved.
//
// After Gray and Cheriton, Leases, SOSP 1989: a failure costs availability, never correctness.
type Lease struct {
	confirmed atomic.Int64 // plus one; zero means never
	bound     int64
}

// Without makes l the lease of a process that follows no log: it never ends.
func (l *Lease) Without() { l.confirmed.Store(math.MaxInt64) }

// Confirmed returns when the lease was last confirmed. It reports false if that has never happened,
// or if the lease needs no confirmation.
func (l *Lease) Confirmed() (at int64, ok bool) {
	c := l.confirmed.Load()
	return c - 1, c != 0 && c != math.MaxInt64
}

// Read returns the value to pass to [Lease.Covers]. A reader takes it before it looks at any fence.
// A fence is stored before the lease is extended, so a reader that sees the extension sees the
// fence. In the other order it could miss a fence.
func (l *Lease) Read() int64 { return l.confirmed.Load() }

// Covers reports whether the lease, as read, covers the moment now.
func (l *Lease) Covers(read, now int64) bool { return read != 0 && now-read < l.bound }

// Within is Covers with the reader's own bound, if that is shorter.
func (l *Lease) Within(read, now int64, bound time.Duration) bool {
	return read != 0 && now-read < min(l.bound, int64(bound))
}

// extend confirms the lease as of the time at: a complete answer to a question asked then has been
// applied.
func (l *Lease) extend(at int64) {
	for {
		old := l.confirmed.Load()
		if old > at || l.confirmed.CompareAndSwap(old, at+1) {
			return
		}
	}
}
