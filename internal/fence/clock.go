package fence

import (
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// clock orders invalidations when there is no log. The upper 32 bits of a position are unix
// seconds, the lower 32 bits are the fraction. No two fences get the same position. All tiers of a
// process share one clock, so they agree on the order even if the wall clock jumps.
var clock atomic.Uint64

func wall() uint64 {
	t := time.Now()
	return uint64(t.Unix())<<32 | uint64(t.Nanosecond())<<2
}

// presentPosition returns a position that every later nextPosition exceeds.
func presentPosition() invalidate.Position {
	now := wall()
	for {
		last := clock.Load()
		if now <= last {
			return invalidate.Position(last)
		}
		if clock.CompareAndSwap(last, now) {
			return invalidate.Position(now)
		}
	}
}

// nextPosition returns a position above every one handed out before.
func nextPosition() invalidate.Position {
	now := wall()
	for {
		last := clock.Load()
		next := max(now, last+1)
		if clock.CompareAndSwap(last, next) {
			return invalidate.Position(next)
		}
	}
}

// raise sets a to v if a is lower.
func raise(a *atomic.Uint64, v uint64) {
	for {
		old := a.Load()
		if old >= v || a.CompareAndSwap(old, v) {
			return
		}
	}
}
