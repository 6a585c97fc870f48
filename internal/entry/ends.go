package entry

// EndOf returns the time from which no read and no load has a use for an entry of the local tier.
// For one that a fence covers, that time has passed. The tier calls it, perhaps with a lock held.
func EndOf(e any) int64 {
	switch it := In(e); {
	case it == nil:
		return Never
	case it.ClearAt.Load() == covered:
		return longAgo
	default:
		return it.KeptUntil()
	}
}
