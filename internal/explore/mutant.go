package explore

import "strings"

// Mutant is a set of rules of the protocol that are broken on purpose.
type Mutant uint64

// The mutants. Those of one process's own order come first, then those of what
// a lease is, then those of the remote tier, then those of flights; at the end, those of the outbox.
const (
	MarkAfterGet     Mutant = 1 << iota // a remote value is marked when it goes into the local tier
	MarkAfterLoad                       // a load is marked when the source has answered
	FencesFirst                         // a reader looks at the fences, then at the lease
	LeaseFirst                          // an applier extends the lease, then stores the fence
	CursorFirst                         // an applier moves the position, then stores the fence
	TickUnlocked                        // a fence takes its tick before it takes the lock of the tables
	NoApplyLock                         // a second applier trusts the position while the first is at it
	JudgeAtInsert                       // an entry is judged when it goes in, not when it is read
	DeleteOnly                          // a fence deletes the entry that is there, and nothing is judged
	NoOvertakenCheck                    // a load that was overtaken is stored like any other
	KeepLost                            // a value whose fill lost its claim is kept in the local tier
	NoLease                             // every lease holds for ever
	RemoteNoLease                       // frames are judged without a lease
	TailExtends                         // the tail extends the lease
	StampAtReply                        // the lease counts from the reply, not from the question
	AgeFromEnd                          // an entry's age counts from the end of its load
	AckFirst                            // the invalidation is acknowledged before it is in the log
	WaitFirst                           // Strict waits from before the append
	LogFirst                            // the record is appended before the cell is removed
	NoUnlink                            // the cell is not removed
	NoFrameCheck                        // frames are not held against the fences
	NoCAS                               // a fill lands whatever is there
	RenewRevives                        // renewing a claim makes it anew when it is gone
	JoinFenced                          // a caller joins a flight that is already fenced
	NoRejudge                           // who joined a flight takes what it brings
	AgeOnly                             // who joined a flight takes a young load without a look at the fences
	TickAtCall                          // who joined a flight looks at fences since its call, not since its lease was judged
	NoIdentity                          // an epoch is not bound to the server that holds the log
	NoRecordIDs                         // the log takes any record at the caller's position for the caller's own
	NoAheadCheck                        // the log serves a caller who knows more than it holds
	NoChain                             // a record does not name the one before it
	NoEpochID                           // positions alone decide about frames, whatever epoch they are of
	OuterAge                            // a value is as young as its own load, whatever it is built from
	SeenLast                            // a hit sees that there is a fence after the fence has taken its tick
	NoteUnlocked                        // an entry found clear without the lock notes the tick of that moment
	SoftWins                            // what expires stays, also when it is invalidated
	SoftInKeys                          // an expiry goes into the sequence of keys, where a hole says nothing of frames
	FreshFrame                          // an entry does not note that its frame had expired
	FreshBuilt                          // what is built from an expired part is fresh
	FreshFill                           // ... to those who read its frame
	NumberFirst                         // rows are numbered, then the cells they name are removed
	RemoveInside                        // the writer removes the cell inside its transaction, and no round does
	StagedElsewhere                     // rows are numbered by their ids, on whatever server
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
