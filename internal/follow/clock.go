package follow

import (
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// clock is the order of invalidations where no log gives one: unix seconds in
// the upper half, the fraction in the lower, and never twice the same for two
// fences. It is one for the whole process, so that two sets of tiers in one
// process agree on it to the last event, whatever the wall clock does.
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
