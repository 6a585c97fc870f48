package invalidate

import "time"

// FenceStats is what a process remembers of invalidations, and what it has cost that it
// cannot remember all of them.
type FenceStats struct {
	// Keys, Prefixes and Tags are the fences that are remembered exactly now, a scope that
	// was fenced again after a while more than once. There are 524,288 of each at most,
	// in 28 MB, and in 36 MB for prefixes; half of that as a rule.
	Keys, Prefixes, Tags int64

	// Expired are the fences of Expire, of all kinds together. There are as many of each kind
	// at most.
	Expired int64

	// Forgotten counts entries and loads that were given up because a fence that may cover
	// them is no longer remembered.
	Forgotten int64

	// Holds are the live holds, and those that ended a moment ago. HoldsWidened counts those
	// beyond the limit, which hold more than they name; see [Hold].
	Holds, HoldsWidened int64
}

// LogStats is what a process has seen of its log and done with it since it follows it.
type LogStats struct {
	LeaseAge time.Duration // since the lease was last confirmed; -1: never
	Lapses   int64         // times the lease ran out
	Gaps     int64         // times records were missing: trimmed, or lost with their server
	Bumps    int64         // epochs that began: a new log, or one that may have lost its end
	Damaged  int64         // records that did not decode
	Records  int64         // records applied
	Syncs    int64         // calls of Log.Sync
	Pending  int64         // scopes that wait for a log, or a remote tier, out of reach

	PendingAge time.Duration // how long the oldest of them has waited; 0: none does

	SyncErrors, TailErrors int64 // calls that failed, for whatever reason

	Epoch uint32 // of the log
}
