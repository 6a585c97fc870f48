package explore

import "strings"

// Mutant is a set of protocol rules that are broken on purpose.
type Mutant uint64

// The mutants. First those of the order within one process, then those of the lease and of the
// remote tier.
const (
	MarkAfterGet     Mutant = 1 << iota // a remote value is marked when it goes into the local tier
	MarkAfterLoad                       // a load is marked when the source has answered
	FencesFirst                         // a reader looks at the fences, then at the lease
	LeaseFirst                          // an applier extends the lease, then stores the fence
	CursorFirst                         // an applier moves the position, then stores the fence
	TickUnlocked                        // a fence takes its tick before it takes the lock of the tables
	NoApplyLock                         // a second applier trusts the position before the first is done
	CheckAtInsert                       // an entry is checked when it is stored, not when it is read
	DeleteOnly                          // a fence deletes the present entry, and nothing is checked
	NoOvertakenCheck                    // a load that was overtaken is stored like any other
	KeepLost                            // a value whose fill lost its claim is kept in the local tier
	NoLease                             // every lease holds forever
	RemoteNoLease                       // frames are checked without a lease
	TailExtends                         // the tail extends the lease
	StampAtReply                        // the lease counts from the reply, not from the question
	AgeFromEnd                          // an entry's age counts from the end of its load
	AckFirst                            // the invalidation is acknowledged before it is in the log
	WaitFirst                           // Settle waits from before the append
	LogFirst                            // the record is appended before the cell is removed
	NoUnlink                            // the cell is not removed
	NoFrameCheck                        // frames are not compared with the fences
	NoCAS                               // a fill is stored over every cell
	RenewRevives                        // renewing a claim recreates it if it is gone
	NoteUnlocked                        // an entry found clear without the lock notes the tick of that moment
	mutantsEnd

	// AllMutants breaks every rule.
	AllMutants = mutantsEnd - 1
)

var mutantNames = [...]string{
	"MarkAfterGet", "MarkAfterLoad", "FencesFirst", "LeaseFirst", "CursorFirst", "TickUnlocked", "NoApplyLock",
	"CheckAtInsert", "DeleteOnly", "NoOvertakenCheck", "KeepLost",
	"NoLease", "RemoteNoLease", "TailExtends", "StampAtReply", "AgeFromEnd", "AckFirst", "WaitFirst",
	"LogFirst", "NoUnlink", "NoFrameCheck", "NoCAS", "RenewRevives", "NoteUnlocked",
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
