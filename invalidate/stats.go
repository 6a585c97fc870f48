package invalidate

import "time"

// FenceStats describes the fences that a process remembers, and what it discarded because it cannot
// remember all of them.
type FenceStats struct {
	// Keys, Prefixes and Tags count the fences that are remembered exactly now. A scope that
	// was fenced again after a while counts more than once. The limit is 524,288 of each, in
	// 28 MB, and 36 MB for prefixes. Half of that is usual. With more than a million entries in
	// the local tier, the limit is half their number, in 28 bytes for each entry.
	Keys, Prefixes, Tags int64

	// Expired counts the fences of Expire, of all kinds together. The limit for each kind is
	// the same.
	Expired int64

	// Forgotten counts entries and loads that were discarded because the process no longer
	// remembers a fence that may cover them.
	Forgotten int64

	// Waits counts calls that waited because fences came faster than the entries could be
	// checked, and Waited is how long they waited in all. Reads do not wait.
	Waits  int64
	Waited time.Duration
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
