package invalidate

import (
	"sync/atomic"
	"time"
)

// Position is a place in the order of invalidations: an epoch in the upper 32
// bits, a number within it in the lower. Zero lies before every invalidation.
type Position uint64

// Epoch returns the upper half of p.
func (p Position) Epoch() uint32 { return uint32(p >> 32) }

// N returns the lower half of p.
func (p Position) N() uint32 { return uint32(p) }

// At returns the position n of epoch.
func At(epoch, n uint32) Position { return Position(epoch)<<32 | Position(n) }

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
func presentPosition() Position {
	now := wall()
	for {
		last := clock.Load()
		if now <= last {
			return Position(last)
		}
		if clock.CompareAndSwap(last, now) {
			return Position(now)
		}
	}
}

// nextPosition returns a position above every one handed out before.
func nextPosition() Position {
	now := wall()
	for {
		last := clock.Load()
		next := max(now, last+1)
		if clock.CompareAndSwap(last, next) {
			return Position(next)
		}
	}
}
