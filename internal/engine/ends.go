package engine

import "github.com/twofold-go/twofold/tier"

// endsAt returns the time from which no read and no load has a use for the entry. For one that
// a fence covers, that time has passed.
func (it *Entry) endsAt() int64 {
	if it.clearAt.Load() == covered {
		return longAgo
	}
	return it.keptUntil()
}

// endOf is endsAt of an entry of the local tier. The tier calls it, perhaps with a lock held.
func endOf(e tier.Entry) int64 {
	if it := entryIn(e); it != nil {
		return it.endsAt()
	}
	return never
}
