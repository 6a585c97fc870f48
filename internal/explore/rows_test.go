package explore_test

import . "github.com/twofold-go/twofold/internal/explore"

// row is a mutant and its expected outcome.
type row struct {
	broken Mutant
	modes  []Mode
	model  Model  // where it shows, or would
	why    string // the rule it breaks, or the net that holds in its place
}

var (
	both   = []Mode{Key, Scope}
	key    = []Mode{Key}
	scope  = []Mode{Scope}
	strict = Model{Strict: true}
)

// caught are the mutants that violate the guarantee.
var caught = []row{
	{MarkAfterGet, both, Model{}, "a mark is taken before the GET it describes"},
	{MarkAfterLoad, both, Model{}, "a mark is taken before the load it describes"},
	{FencesFirst, both, Model{}, "a reader reads the lease first, then the fences"},
	{LeaseFirst, both, Model{}, "an applier stores the fence first, then extends the lease"},
	{CursorFirst | NoApplyLock, both, Model{}, "what the position says is applied has been stored"},
	{TickUnlocked, scope, Model{}, "the tick is taken under the lock of the tables"},
	{NoteUnlocked, both, Model{}, "an entry found clear notes a tick that was read under the lock"},
	{JudgeAtInsert, both, Model{}, "an entry is judged when it is read"},
	{DeleteOnly, both, Model{}, "validity never rests on a deletion"},
	{NoLease, both, Model{}, "cached data is served under a lease"},
	{RemoteNoLease, scope, Model{}, "frames are judged under a lease, too"},
	{TailExtends, both, Model{}, "only the syncer extends the lease"},
	{StampAtReply, both, Model{}, "a lease counts from before its question was sent"},
	{AgeFromEnd, both, Model{}, "an entry's age counts from before its load"},
	{AckFirst, both, Model{}, "the record is in the log before the call returns"},
	{WaitFirst, both, strict, "Strict waits for B after the record is in the log"},
	{NoFrameCheck, scope, Model{}, "a frame is compared with the fences"},
	{LogFirst | NoFrameCheck, key, Model{}, "the cell is removed before the record is appended"},
	{LogFirst | TickUnlocked, key, Model{}, "the cell is removed before the record is appended"},
	{NoUnlink | NoFrameCheck, key, Model{}, "the cell is removed"},
	{NoCAS | NoFrameCheck, key, Model{}, "a fill lands only where its claim stands"},
	{RenewRevives | NoFrameCheck, key, Model{}, "a claim that is gone cannot be renewed"},
}

// secondNet are the mutants that do no harm, because another rule catches what they let through. If
// one of them does harm, the list or the model is wrong.
var secondNet = []row{
	{CursorFirst, both, Model{}, "a second applier waits for the first"},
	{TickUnlocked, key, Model{}, "the cell is gone before the record is known"},
	{NoOvertakenCheck, both, Model{}, "the entry is judged again when it is read"},
	{KeepLost, both, Model{}, "the entry is judged again when it is read"},
	{RemoteNoLease, key, Model{}, "the cell is removed before the call returns"},
	{LogFirst, key, Model{}, "every process that knows the record refuses the frame"},
	{NoUnlink, key, Model{}, "every process that knows the record refuses the frame"},
	{NoFrameCheck, key, Model{}, "the cell is removed, and no fill brings it back"},
	{NoCAS, both, Model{}, "every process that knows the record refuses the frame"},
	{RenewRevives, key, Model{}, "every process that knows the record refuses the frame"},
}
