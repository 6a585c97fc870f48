package invalidate

import "time"

// FenceStats describes what a process remembers of invalidations. It remembers them for loads that run and
// for cells that other processes stored: what is in the local tier hears of an invalidation at once.
type FenceStats struct {
	// Keys, Tags and Prefixes count the scopes whose last invalidation is remembered, and Expired those
	// with a remembered Expire. They take at most 25 MB together.
	Keys, Tags, Prefixes, Expired int64

	// Nodes counts the tags, the keys of parts and the like that entries of the local tier depend on.
	Nodes int64

	// Reach is how far back every invalidation is remembered.
	Reach time.Duration

	// Forgotten counts loads and entries that were discarded because they are older than that.
	Forgotten int64
}

// LogStats describes what a process has seen of its log, and done with it, since it follows it.
type LogStats struct {
	LeaseAge  time.Duration // since the lease was last confirmed; -1 if it never was
	LeaseLeft time.Duration // until the lease runs out if the log does not renew it; 0 means that there is none
	Lapses    int64         // times the lease ran out
	Gaps      int64         // times records were missing: trimmed, or lost with their server
	Bumps     int64         // epochs that began: a new log, or one that may have lost records
	Damaged   int64         // records that did not decode
	Records   int64         // records applied
	Syncs     int64         // calls of Log.Sync
	Pending   int64         // scopes that wait for a log or a remote tier that cannot be reached

	PendingAge time.Duration // how long the oldest of them has waited; 0 if none waits

	SyncErrors, TailErrors int64 // calls that failed, for any reason

	Epoch uint32 // of the log
}
