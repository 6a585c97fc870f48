package invalidate

import "time"

// Event describes an invalidation, or an Expire, that was applied in this process. See
// OnInvalidate of cache.Tiers.
type Event struct {
	Local bool // a call in this process made it

	// Fences are what was invalidated, in no order, and whether each only became stale. A scope of
	// [KindAll] covers everything. The program must not change Fences.
	Fences []Fence

	// Missed is how many events were dropped before this one, because the program was too
	// slow. The dropped events may have covered anything, so this event covers everything.
	Missed int

	At time.Time // when it was applied here
}
