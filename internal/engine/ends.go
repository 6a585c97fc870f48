package engine

import "github.com/twofold-go/twofold/tier"

// endOf returns the time from which no read and no load has a use for an entry of the local tier.
// For one that a fence covers, that time has passed. The tier calls it, perhaps with a lock held.
func endOf(e tier.Entry) int64 {
	switch it := entryIn(e); {
	case it == nil:
		return never
	case it.clearAt.Load() == covered:
		return longAgo
	default:
		return it.keptUntil()
	}
}
