package invalidate

import "time"

// Event tells a program of an invalidation, or of something that expired, which is applied in
// its process: see OnInvalidate of cache.Tiers.
type Event struct {
	// Local says that a call in this process asked for it. Then Scopes are what the call
	// named. Of another process only the hashes are known, so Scopes is nil.
	Local  bool
	Scopes []Scope

	// Fences are what the log carries of it: the kinds and hashes, as Scope.Fence returns
	// them, and whether it is soft. A fence of KindAll stands for everything. Neither slice
	// must be changed.
	Fences []Fence

	// Missed is how many events were dropped before this one, because the program was
	// too slow to take them. They may have been about anything, so this one is about
	// everything.
	Missed int

	At time.Time // when it was applied here
}
