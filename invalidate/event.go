package invalidate

import "time"

// Event describes an invalidation, or an Expire, that was applied in this process. See
// OnInvalidate of cache.Tiers.
type Event struct {
	// Local says that a call in this process made it. Then Scopes are the scopes of the call.
	//
	// In an event of another process, Scopes are those that the log names: tenant, namespace and
	// id of keys, and prefixes and tags. Logs name them if their option Names is set, in
	// redislog.Config and sqllog.Config; by default they carry only the kind, the hash, a
	// prefix's length, the hold and whether it is soft. An event of everything has the scope All.
	// Scopes are in no order. They are only for information: a program that can write to the log
	// can leave a name out, but cannot add one whose hash is not among Fences.
	Local  bool
	Scopes []Scope

	// Unnamed is how many of the Fences have no scope in Scopes, so what they cover is known only
	// by hash. A program can compare Scope.Fence of the scopes that it uses with Fences; the hold
	// may differ. Unnamed is zero when Scopes are complete.
	Unnamed int

	// Fences are what the log carries: the kinds and hashes, as Scope.Fence returns them, and
	// whether each is soft. A fence of KindAll covers everything. The program must not change
	// Scopes or Fences.
	Fences []Fence

	// Missed is how many events were dropped before this one, because the program was too
	// slow. The dropped events may have covered anything, so this event covers everything.
	Missed int

	At time.Time // when it was applied here
}
