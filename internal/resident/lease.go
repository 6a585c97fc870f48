package resident

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/safeguard"
)

// A cached entry may have been invalidated without this process knowing it: the message may be lost or
// late, or the process may have been paused when it came. Either of two facts confirms an entry, which
// makes it usable.
//
// The lease: at most a bound ago this process asked the log what it had missed, and applied the
// answer. An invalidation from before that question is known here, and its fence is found. An
// invalidation from after it is less than a bound old. Every invalidation is one or the other, even if
// messages were lost.
//
// The load: this process read the value from the source at most a bound ago. That needs no log.
// The cache relies on it while the log is out of reach.
//
// Three rules of order make the first fact true. Each has a story in testdata/log that fails
// when the rule is broken.
//
//   - A reader takes the lease first and then looks at the fences. The
//     follower stores fences first and then extends the lease.
//   - Marks (ticks and positions) are captured before the fetch or the load
//     that they describe, never after.
//   - Cells are removed before the record is written.
//
// An entry is checked when it is read. An invalidation of its key has removed it by then; what else can end it
// has told it (package fence).

// leasePatience limits how long a read waits for a new lease before it goes to the source.
const leasePatience = 150 * time.Millisecond

// isConfirmed reports whether a cached value may be served now, if no fence covers it. Either the
// lease that was read covers now, or the load began in this process at loaded, less than a bound
// ago.
func (t *Core) isConfirmed(lease, now, loaded int64) bool {
	return t.Lease.Covers(lease, now) || now-loaded < t.Bound || safeguard.Off(safeguard.Lease)
}

// Young reports whether an entry is young enough for a call with MaxAge. The age of a value that
// another process loaded depends on wall clocks. So its lease must be that young, too: the age of a
// lease depends on no wall clock.
func (t *Core) Young(loadedAt, readAt, lease, now int64, maxAge time.Duration) bool {
	return maxAge < 0 || (now-loadedAt <= int64(maxAge) &&
		(t.Follower == nil || now-readAt <= int64(maxAge) || t.Lease.Within(lease, now, maxAge)))
}

// Confirm waits a moment for a lease that covers calls made now, within the caller's own bound
// if that is shorter. It takes at most half of the time that ctx leaves, because the source
// needs the rest. The later check of the lease shows a failure.
//
// now is when the call began. Confirm returns it, or the present if it had to wait.
func (t *Core) Confirm(ctx context.Context, bound time.Duration, now int64) int64 {
	if t.Follower == nil || safeguard.Off(safeguard.Lease) || t.Lease.Within(t.Lease.Read(), now, bound) {
		return now
	}
	// A question from a moment ago is enough.
	_ = t.Follower.Confirm(ctx, now-min(t.Bound, int64(bound))/2, patience(ctx))
	return t.Now()
}

// patience returns how long a read under ctx waits for the log.
func patience(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(leasePatience, time.Until(deadline)/2)
	}
	return leasePatience
}
