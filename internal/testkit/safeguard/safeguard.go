// Package safeguard lets a test build switch off one safeguard of the invalidation protocol, to
// show that the checker notices. In every other build Off is the constant false and costs nothing.
//
// Build with -tags twofold_controls. Name the safeguards in the environment variable
// TWOFOLD_SAFEGUARDS_OFF, separated by commas.
package safeguard

// Guard is a safeguard that a control can remove.
type Guard string

// The safeguards.
const (
	Lease   Guard = "lease"   // cached data is served only while a lease holds
	RunID   Guard = "run-id"  // a log on another server process starts a new epoch
	ReplID  Guard = "replid"  // ... on a server that has followed another one since
	Memory  Guard = "memory"  // ... that was loaded into its server rather than written there
	Place   Guard = "place"   // ... whose tables are another copy of those on which the epoch began
	IDs     Guard = "ids"     // ... whose records differ from those that the caller knows
	Content Guard = "content" // numbering removes a row only with the content that was staged
	Epochs  Guard = "epochs"  // frames of another epoch than the reader's are refused
	Frames  Guard = "frames"  // frames older than a known invalidation are refused
	CAS     Guard = "cas"     // a fill lands only where its claim still stands
	Owed    Guard = "owed"    // the remote tier is not trusted while an invalidation of this process is not in the log
	Soft    Guard = "soft"    // an expired value is stale, in the local tier and in frames
	Ahead   Guard = "ahead"   // a frame above the log's end makes the log start a new epoch
	Parts   Guard = "parts"   // a value is not valid for longer than the parts it was built from
	Keys    Guard = "keys"    // a fence of the key of a part covers what was built from it
	Audit   Guard = "audit"   // an audit learns of every invalidation before it calls a hit stale
)
