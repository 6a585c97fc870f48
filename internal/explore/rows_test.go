package explore_test

import (
	"fmt"

	. "github.com/twofold-go/twofold/internal/explore"
)

// row is a mutant and its expected outcome.
type row struct {
	broken Mutant
	modes  []Mode
	model  Model  // where it shows, or would: shape and strictness
	why    string // the rule it breaks, or the net that holds in its place
}

// name returns the name of the row's subtest.
func (w row) name(mode Mode) string {
	if w.model.Outbox {
		return fmt.Sprintf("%v/outbox/%v", w.broken, mode)
	}
	if w.model.Loss != LosesNothing {
		return fmt.Sprintf("%v/loses %v/%v", w.broken, w.model.Loss, mode)
	}
	if w.model.Nested {
		return fmt.Sprintf("%v/nested/%v/strict=%v", w.broken, mode, w.model.Strict)
	}
	return fmt.Sprintf("%v/%v", w.broken, mode)
}

var (
	both      = []Mode{Key, Scope}
	key       = []Mode{Key}
	scope     = []Mode{Scope}
	soft      = []Mode{Soft}
	strict    = Model{Strict: true}
	flightInP = Model{Shape: SharedP}
	flightInQ = Model{Shape: SharedQ}

	oneEachInQ = Model{Shape: SharedQ, Reads: oneEach} // enough, and quicker
	oneEach    = [2]uint8{1, 1}

	nested       = Model{Nested: true, Shape: SharedQ, Reads: [2]uint8{2, 0}}
	nestedStrict = Model{Nested: true, Shape: SharedQ, Reads: [2]uint8{2, 0}, Strict: true}

	twice      = Model{Twice: true, Reads: oneEach}
	softNested = Model{Nested: true, Reads: [2]uint8{0, 2}}

	losesRecord = Model{Loss: LosesRecord, Reads: oneEach}
	losesOther  = Model{Loss: LosesOther, Reads: oneEach}
	losesShared = Model{Loss: LosesShared, Reads: oneEach}
	losesAll    = Model{Loss: LosesAll, Reads: oneEach}

	outbox       = Model{Outbox: true, Reads: [2]uint8{0, 2}}
	outboxCopied = Model{Outbox: true, Loss: LosesRow, Reads: [2]uint8{0, 2}}
)

// caught are the mutants that violate the guarantee.
var caught = []row{
	{MarkAfterGet, both, Model{}, "a mark is taken before the GET it describes"},
	{MarkAfterLoad, both, Model{}, "a mark is taken before the load it describes"},
	{FencesFirst, both, Model{}, "a reader reads the lease first, then the fences"},
	{LeaseFirst, both, Model{}, "an applier stores the fence first, then extends the lease"},
	{CursorFirst | NoApplyLock, both, Model{}, "what the position says is applied has been stored"},
	{TickUnlocked, scope, Model{}, "the tick is taken under the lock of the tables"},
	{SeenLast, scope, nested, "a hit sees that there is a fence before a mark can count it"},
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
	{JoinFenced | NoRejudge, both, flightInQ, "a caller does not join a flight that is fenced"},
	{NoRejudge, scope, flightInQ, "a caller that joined a flight judges its result"},
	{AgeOnly, scope, flightInP, "a young load is compared with the fences as well"},
	{TickAtCall, scope, oneEachInQ, "fences count from when the lease was judged"},
	{OuterAge, scope, nested, "a value is no younger than the evidence for its parts"},
	{OuterAge, scope, nestedStrict, "... also with Strict"},
	{NoIdentity, both, losesRecord, "an epoch belongs to one server: it is noticed when Q, which misses nothing, is back first"},
	{NoIdentity, scope, losesOther, "... and no frame is as of a lost record's position, which the record has now"},
	{NoIdentity | NoRecordIDs, both, losesOther, "the record at the caller's position is the caller's own"},
	{NoIdentity | NoChain, both, losesOther, "a record names the one before it, so that the tail cannot skip the lost position"},
	{NoIdentity | NoAheadCheck, both, losesShared, "a caller that knows more than the log holds is not served"},
	{NoEpochID, scope, losesAll, "a frame is of the reader's own epoch"},
	{NoEpochID | NoUnlink, key, losesAll, "a frame is of the reader's own epoch, also where the cell outlives its removal"},
}

// caughtSoft are the mutants that serve expired values as fresh, or serve invalidated values.
var caughtSoft = []row{
	{MarkAfterGet, soft, Model{}, "a mark is taken before the GET it describes"},
	{MarkAfterLoad, soft, Model{}, "a mark is taken before the load it describes"},
	{FencesFirst, soft, Model{}, "a reader reads the lease first, then the fences"},
	{LeaseFirst, soft, Model{}, "an applier stores the fence first, then extends the lease"},
	{TickUnlocked, soft, Model{}, "the tick is taken under the lock of the tables"},
	{NoteUnlocked, soft, Model{}, "an entry found clear notes a tick that was read under the lock"},
	{JudgeAtInsert, soft, Model{}, "an entry is judged when it is read"},
	{NoLease, soft, Model{}, "cached data is fresh under a lease"},
	{RemoteNoLease, soft, Model{}, "frames are judged under a lease, too"},
	{AckFirst, soft, Model{}, "the record is in the log before the call returns"},
	{NoFrameCheck, soft, Model{}, "a frame is compared with the fences by its position"},
	{NoRejudge, soft, flightInQ, "a caller that joined a flight judges its result"},
	{SoftWins, scope, twice, "an invalidation wins over an expiry"},
	{SoftInKeys, soft, Model{}, "where a process misses an expiry, it gives up frames as well"},
	{FreshFrame, soft, Model{}, "the entry notes that its frame had expired: its mark is later than the fence"},
	{FreshBuilt, soft, softNested, "a value built from an expired part is stale"},
	{FreshFill, soft, softNested, "... and its frame says so"},
}

// caughtOutbox are the mutants of a log in the source's own database.
var caughtOutbox = []row{
	{AfterCommit, both, outbox, "the row becomes visible together with the data"},
	{AnswerFirst, both, outbox, "a round numbers the rows it has seen before the lease is extended"},
	{NumberFirst, key, outbox, "the cell is removed before the row is numbered"},
	{RemoveInside, key, outbox, "the cell is removed after COMMIT"},
	{DeleteFirst, both, outbox, "one statement deletes the rows and appends the record"},
	{LowLate, both, outbox, "the low-water mark is from before the rows are staged"},
	{StagedElsewhere, both, outboxCopied, "rows are staged and numbered on one server"},
}

// secondNet are the mutants that do no harm, because another rule catches what they let through. If
// one of them does harm, the list or the model is wrong.
var secondNet = []row{
	{CursorFirst, both, Model{}, "a second applier waits for the first"},
	{TickUnlocked, key, Model{}, "the cell is gone before the record is known"},
	{SeenLast, both, Model{}, "what a load reads from the source after the mark is new"},
	{NoOvertakenCheck, both, Model{}, "the entry is judged again when it is read"},
	{KeepLost, both, Model{}, "the entry is judged again when it is read"},
	{RemoteNoLease, key, Model{}, "the cell is removed before the call returns"},
	{LogFirst, key, Model{}, "every process that knows the record refuses the frame"},
	{NoUnlink, key, Model{}, "every process that knows the record refuses the frame"},
	{NoFrameCheck, key, Model{}, "the cell is removed, and no fill brings it back"},
	{NoCAS, both, Model{}, "every process that knows the record refuses the frame"},
	{RenewRevives, key, Model{}, "every process that knows the record refuses the frame"},
	{JoinFenced, both, flightInQ, "what the flight brought is judged again"},
	{NoRejudge, key, flightInQ, "a flight that is fenced is not joined"},
	{AgeOnly, key, flightInP, "a flight that is fenced is not joined"},
	{TickAtCall, key, flightInQ, "a flight that is fenced is not joined"},
	{NoIdentity, key, losesOther, "the record at Q's position is not Q's, and the cell is removed"},
	{NoIdentity, both, losesShared, "P, the first to ask, is ahead of the log"},
	{NoIdentity | NoAheadCheck, key, losesOther, "the record at Q's position is not Q's, and the cell is removed"},
	{NoIdentity | NoRecordIDs | NoChain, both, losesShared, "P, the first to ask, is ahead of the log"},
	{NoRecordIDs | NoAheadCheck | NoChain, both, losesRecord, "the first question after the loss starts an epoch"},
	{NoRecordIDs | NoAheadCheck | NoChain, both, losesOther, "the first question after the loss starts an epoch"},
	{NoRecordIDs | NoAheadCheck | NoChain, both, losesShared, "the first question after the loss starts an epoch"},
	{NoEpochID, key, losesAll, "the cell is removed, and no fill brings it back"},
	{NoEpochID, both, losesRecord, "the number of the new epoch is above the old one's"},
}
