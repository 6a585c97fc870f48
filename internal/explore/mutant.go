package explore

import "strings"

// Mutant is a set of protocol rules that are broken on purpose.
type Mutant uint64

// The mutants. First those of the order within one process, then those of the lease, the remote
// tier, flights, the log, nested values and expiry, and at the end those of the outbox.
const (
	MarkAfterGet     Mutant = 1 << iota // a remote value is marked when it goes into the local tier
	MarkAfterLoad                       // a load is marked when the source has answered
	FencesFirst                         // a reader looks at the fences, then at the lease
	LeaseFirst                          // an applier extends the lease, then stores the fence
	CursorFirst                         // an applier moves the position, then stores the fence
	TickUnlocked                        // a fence takes its tick before it takes the lock of the tables
	NoApplyLock                         // a second applier trusts the position before the first is done
	JudgeAtInsert                       // an entry is judged when it is stored, not when it is read
	DeleteOnly                          // a fence deletes the present entry, and nothing is judged
	NoOvertakenCheck                    // a load that was overtaken is stored like any other
	KeepLost                            // a value whose fill lost its claim is kept in the local tier
	NoLease                             // every lease holds forever
	RemoteNoLease                       // frames are judged without a lease
	TailExtends                         // the tail extends the lease
	StampAtReply                        // the lease counts from the reply, not from the question
	AgeFromEnd                          // an entry's age counts from the end of its load
	AckFirst                            // the invalidation is acknowledged before it is in the log
	WaitFirst                           // Strict waits from before the append
	LogFirst                            // the record is appended before the cell is removed
	NoUnlink                            // the cell is not removed
	NoFrameCheck                        // frames are not compared with the fences
	NoCAS                               // a fill is stored whatever the cell holds
	RenewRevives                        // renewing a claim recreates it if it is gone
	JoinFenced                          // a caller joins a flight that is already fenced
	NoRejudge                           // a caller that joined a flight takes its result unjudged
	AgeOnly                             // a caller that joined a flight takes a young load without a look at the fences
	TickAtCall                          // a caller that joined a flight compares with fences since its call, not since its lease was judged
	NoIdentity                          // an epoch is not bound to the server that holds the log
	NoRecordIDs                         // the log accepts any record at the caller's position as the caller's own
	NoAheadCheck                        // the log serves a caller that knows more than it holds
	NoChain                             // a record does not name the one before it
	NoEpochID                           // frames are judged by positions alone, regardless of epoch
	OuterAge                            // a value is as young as its own load, regardless of its parts
	SeenLast                            // a hit notices a fence only after the fence has taken its tick
	NoteUnlocked                        // an entry found clear without the lock notes the tick of that moment
	SoftWins                            // an expired value stays, even if it is invalidated as well
	SoftInKeys                          // an expiry goes into the key sequence, where a hole does not affect frames
	FreshFrame                          // an entry does not note that its frame had expired
	FreshBuilt                          // a value built from an expired part is fresh
	FreshFill                           // ... for readers of its frame
	NumberFirst                         // rows are numbered, then the cells they name are removed
	RemoveInside                        // the writer removes the cell inside its transaction, and no round does
	StagedElsewhere                     // rows are numbered by their ids, on any server
	LowLate                             // the low-water mark is taken after the rows were staged
	DeleteFirst                         // rows are deleted in one statement, and the record is appended in the next
	AnswerFirst                         // a round may end without numbering the rows it has seen
	AfterCommit                         // the row is added after COMMIT
	mutantsEnd

	// AllMutants breaks every rule at once.
	AllMutants = mutantsEnd - 1
)

var mutantNames = [...]string{
	"MarkAfterGet", "MarkAfterLoad", "FencesFirst", "LeaseFirst", "CursorFirst", "TickUnlocked", "NoApplyLock",
	"JudgeAtInsert", "DeleteOnly", "NoOvertakenCheck", "KeepLost",
	"NoLease", "RemoteNoLease", "TailExtends", "StampAtReply", "AgeFromEnd", "AckFirst", "WaitFirst",
	"LogFirst", "NoUnlink", "NoFrameCheck", "NoCAS", "RenewRevives",
	"JoinFenced", "NoRejudge", "AgeOnly", "TickAtCall",
	"NoIdentity", "NoRecordIDs", "NoAheadCheck", "NoChain", "NoEpochID", "OuterAge", "SeenLast", "NoteUnlocked",
	"SoftWins", "SoftInKeys", "FreshFrame", "FreshBuilt", "FreshFill",
	"NumberFirst", "RemoveInside", "StagedElsewhere", "LowLate", "DeleteFirst", "AnswerFirst", "AfterCommit",
}

// String returns the names in the set, with a plus sign between them.
func (b Mutant) String() string {
	var names []string
	for i, name := range mutantNames {
		if b&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}
