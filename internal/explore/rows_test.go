package explore_test

import . "github.com/twofold-go/twofold/internal/explore"

// row is a mutant and its expected outcome.
type row struct {
	broken Mutant
	modes  []Mode
	settle bool   // where it shows, or would
	why    string // the rule it breaks, or the net that holds in its place
}

var (
	both  = []Mode{Key, Scope}
	key   = []Mode{Key}
	scope = []Mode{Scope}
)

// caught are the mutants that violate the guarantee.
var caught = []row{
	{MarkAfterGet, both, false, "a mark is taken before the GET it describes"},
	{MarkAfterLoad, both, false, "a mark is taken before the load it describes"},
	{FencesFirst, both, false, "a reader reads the lease first, then the fences"},
	{LeaseFirst, both, false, "an applier stores the fence first, then extends the lease"},
	{CursorFirst | NoApplyLock, both, false, "what the position says is applied has been stored"},
	{TickUnlocked, scope, false, "the tick is taken under the lock of the tables"},
	{NoteUnlocked, both, false, "an entry found clear notes a tick that was read under the lock"},
	{CheckAtInsert, both, false, "an entry is checked when it is read"},
	{DeleteOnly, both, false, "validity never rests on a deletion"},
	{NoLease, both, false, "cached data is served under a lease"},
	{RemoteNoLease, scope, false, "frames are checked under a lease, too"},
	{TailExtends, both, false, "only the syncer extends the lease"},
	{StampAtReply, both, false, "a lease counts from before its question was sent"},
	{AgeFromEnd, both, false, "an entry's age counts from before its load"},
	{AckFirst, both, false, "the record is in the log before the call returns"},
	{WaitFirst, both, true, "Settle waits for B after the record is in the log"},
	{NoFrameCheck, scope, false, "a frame is compared with the fences"},
	{LogFirst | NoFrameCheck, key, false, "the cell is removed before the record is appended"},
	{LogFirst | TickUnlocked, key, false, "the cell is removed before the record is appended"},
	{NoUnlink | NoFrameCheck, key, false, "the cell is removed"},
	{NoCAS | NoFrameCheck, key, false, "a fill lands only where its claim stands"},
	{RenewRevives | NoFrameCheck, key, false, "a claim that is gone cannot be renewed"},
}

// secondNet are the mutants that do no harm, because another rule catches what they let through. If
// one of them does harm, the list or the model is wrong.
var secondNet = []row{
	{CursorFirst, both, false, "a second applier waits for the first"},
	{TickUnlocked, key, false, "the cell is gone before the record is known"},
	{NoOvertakenCheck, both, false, "the entry is checked again when it is read"},
	{KeepLost, both, false, "the entry is checked again when it is read"},
	{RemoteNoLease, key, false, "the cell is removed before the call returns"},
	{LogFirst, key, false, "every process that knows the record refuses the frame"},
	{NoUnlink, key, false, "every process that knows the record refuses the frame"},
	{NoFrameCheck, key, false, "the cell is removed, and no fill brings it back"},
	{NoCAS, both, false, "every process that knows the record refuses the frame"},
	{RenewRevives, key, false, "every process that knows the record refuses the frame"},
}
