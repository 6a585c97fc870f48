package invalidate

import "time"

// Event describes an invalidation, or an Expire, that was applied in this process. See
// OnInvalidate of cache.Tiers.
type Event struct {
	// Local says that a call in this process made it. Then Scopes are the scopes of the call.
	// Events of other processes carry only hashes, so Scopes is nil.
	Local  bool
	Scopes []Scope

	// Fences are what the log carries: the kinds and hashes, as Scope.Fence returns them, and
	// whether each is soft. A fence of KindAll covers everything. The program must not change
	// Scopes or Fences.
	Fences []Fence

	// Missed is how many events were dropped before this one, because the program was too
	// slow. The dropped events may have covered anything, so this event covers everything.
	Missed int

	At time.Time // when it was applied here
}
