package resident

// EndOf returns the time from which no read and no load has a use for an entry of the local tier.
// For one that an invalidation has ended, that time has passed; a
// prefix that ends inside an id is noticed only by a read. The tier calls it, perhaps with a lock held.
func EndOf(e any) int64 {
	switch it := In(e); {
	case it == nil:
		return Never
	case it.state.Load()&dead != 0 || !it.sound():
		return longAgo
	default:
		return it.KeptUntil()
	}
}
