// Package explore visits every state that the invalidation protocol can reach in a small world, and
// looks for a read that violates the guarantee. Package invalidate explains the protocol itself.
//
// This is explicit-state model checking, as in Holzmann's SPIN and in TLC, the checker of Lamport's
// TLA+. A state is a small comparable value, and a step leads from one state to another. A
// breadth-first search visits all of them. It either ends, which proves that the model has no
// violation, or finds a shortest trace to one. The model is written in Go, so that it can be read
// beside the code and runs as a test.
//
// # The world
//
// There is one key, with one value that carries one tag. There are two processes, P and Q, and two
// callers, one in each process or both in one. Each caller makes two Gets, one after another. P
// makes one invalidation, of the key or of the tag, right after the source has changed from version
// 1 to version 2. At the start every tier holds version 1.
//
// [Model] has additions to this world, each explored separately. With Loss the server forgets some
// of the log's history and keeps the rest, and nothing in the log shows it. With Nested a load may
// build its value from another cached value. In mode Soft the tag expires instead of being
// invalidated. With Twice one record does both. With Outbox the log is a table in the source's own
// database.
//
// The guarantee is that a Get that begins late enough returns version 2. In P that is after
// Invalidate has returned; in Q, once B has passed since then. With Strict, Invalidate itself waits
// for B, so in both processes it is after it has returned. In mode Soft a Get may return version 1
// if it reports it as stale. With Outbox the time counts from COMMIT: in both processes after B,
// and in P as soon as a round has ended that was requested after COMMIT.
//
// # The steps
//
// These are atomic, and other steps may come between any two of them:
//
//   - A Get fetches the entry and reads the lease; judges the lease by the
//     clock; looks at the fences. Without a lease it waits for one or goes
//     straight to the source.
//   - It notes its mark; sends GET; judges the frame; puts it into the local tier
//     and returns it. Or it claims the cell, even over a claim that has not lapsed
//     yet; notes its mark and the time; reads the source; checks whether a fence
//     has overtaken it, and if so begins again, once; fills by compare-and-set;
//     puts the value into the local tier.
//   - GET, a claim's answer and a fill may be lost, a fill may arrive late, and
//     a cell may expire at any time. A claim that is given back looks like an
//     expired cell. An entry may be evicted.
//   - If both callers are in one process, one may join the other's flight, and
//     then judges its result.
//   - The invalidation writes the source; removes the cell, if it names the key;
//     hands the record to the syncer; and returns when a round that carried it
//     has ended.
//   - The syncer asks; the log appends and answers; the record is applied; the
//     lease is extended. A question or an answer may be lost. The tail may
//     apply the record as soon as it is in the log.
//   - A record is applied in three steps: the fence takes its tick; it goes into the
//     tables; the applied position moves. The first two are under one lock. A hit
//     notices the fence before the first step, so it waits for the lock, too.
//   - With Loss: the log loses the record, or has lost another record before the
//     start, or has lost everything. A question detects that by the identity of
//     the server, or by the id of the record at the caller's position, and the log
//     starts an epoch with a bump. The tail may bring the record after one that
//     was lost. A process applies the bump as it applies the record, or in one step
//     if it needs only the epoch.
//   - With Nested: instead of the source, a load reads the entry of its own
//     process as any Get does. It judges the lease and the fences. The value that it
//     builds replaces that entry, so values of any depth are built.
//   - In mode Soft: an entry or a frame that has expired is served as stale, or is
//     a miss. So is a part. A value built from a stale part is stale, and so is its
//     frame. A load that was overtaken continues. In place of the record a process
//     may find a hole: then it gives up everything older, as for an invalidation. With
//     Nested the hole is left out.
//   - With Outbox: COMMIT changes the source and adds a row without a number, in
//     one step. Every round looks for rows without a number. If it finds some, it
//     has three steps: it stages them; it removes the cell that they name; it
//     numbers them, which deletes the rows and appends the record in one step. The
//     process may give up before each step, or die. Then the next round of any
//     process begins with the remaining rows. The table holds a row of another key,
//     too. In mode Key a process may find a hole in place of the record: it gives up
//     its entry, and accepts the frame.
//   - With Outbox and LosesRow: before COMMIT the server is replaced by an older copy.
//     It has lost the other row, which a round may have staged, and it gives that
//     row's id to the next one.
//   - Time is one step: B has passed. All stamps from before the wait for B have
//     then lapsed. Before that step they may or may not have lapsed, and a Get that
//     looks at the clock tries both.
//
// # What is left out
//
// The outbox has no rollbacks, no COMMIT without an answer (the model answers at once, which is the
// stricter case), and no commits that the copy has lost together with their data.
//
// The log has no trimming, no gaps, and at most one loss. A server that loses something takes no
// questions before it is back. A process that joins later has no steps of its own: it behaves like
// Q with a lapsed lease and an evicted entry. A bump before the record does not flush local entries
// here, so entries live longer than in reality. With Nested, the key is never invalidated: a built
// value carries the tags of its parts, but not their keys.
//
// A process does not compare the frames that it has accepted with the log's end. That net is for a
// loss that the server cannot notice, and it proves nothing: no frame may be met in time.
//
// There is only one key and one invalidation, so the model says nothing about fences that share a
// bucket or fall out of a table. It also has no clock rates, holds, background refreshes, values
// served stale by age, errors, Set, or invalidations that fail and wait. The chaos tests cover
// these.
//
// # Reductions
//
// Five reductions keep the number of states small; [Model.Full] switches them off.
//
//   - The new version is dropped wherever it appears, and a Get that can only
//     return it ends at once. Caches may drop anything, so this invents no
//     behaviour; and only the old version can violate the guarantee.
//   - A claim without a holder is dropped for the same reason.
//   - What no step will look at is forgotten: the entry of a process without further
//     Gets, and a last Get that is too early to be obliged and can fill nothing.
//   - A step that touches only its own Get is taken before all others, instead of
//     in every order with them: partial-order reduction.
//   - A round of the syncer that can neither extend the lease nor start an epoch
//     is dropped.
//
// In addition, nonces are renamed in order of appearance, since they are only ever compared.
//
// # How to read a trace
//
// Each line is a step: the actor, the action, and in brackets the change of the shared state. An
// entry's "born" is its tick, and a cell is "as of" a position. A position is 0 before the record
// and 1 after it, or after the lost record whose position it takes. The bump of a second epoch is
// 2, and a record after the bump is 3. A cell "as of 8" is from an epoch with a higher number. A
// lease is "early" if its question was asked before the wait for B began, and "late" if it was
// asked after. State that no step will look at shows as none, empty or lapsed.
//
// # Mutants
//
// A checker that has never found a violation proves nothing. So each rule can be broken by a
// [Mutant], and the tests expect a counterexample.
//
// In each process, order:
//
//	MarkAfterGet      a mark is taken before the GET it describes
//	MarkAfterLoad     ... and before the load
//	FencesFirst       a reader reads the lease first, then the fences
//	LeaseFirst        an applier stores the fence first, then extends the lease
//	CursorFirst       the applied position moves after the fence is stored
//	TickUnlocked      the tick is taken under the lock of the tables
//	SeenLast          a hit notices a fence before a mark counts it
//	NoteUnlocked      an entry found clear notes a tick read under that lock
//	NoApplyLock       records are applied by one applier at a time
//	JudgeAtInsert     an entry is judged when it is read
//	DeleteOnly        validity never depends on a deletion
//	NoOvertakenCheck  a load that was overtaken is not stored
//	KeepLost          a value whose fill lost its claim is not kept
//
// The lease:
//
//	NoLease           cached data is served under a lease
//	RemoteNoLease     ... and so are frames
//	TailExtends       only the syncer extends the lease, never the tail
//	StampAtReply      a lease counts from before the question was sent
//	AgeFromEnd        an entry's age counts from before its load
//	AckFirst          Invalidate returns after the record is in the log
//	WaitFirst         Strict begins to wait for B after that
//
// The remote tier:
//
//	LogFirst          cells are removed before the record is appended
//	NoUnlink          an invalidation removes its cells
//	NoFrameCheck      a frame older than a known fence is refused
//	NoCAS             a fill is stored only while its claim is in the cell
//	RenewRevives      renewing a claim never recreates it
//
// Flights:
//
//	JoinFenced        a flight that is fenced is not joined
//	NoRejudge         a flight's result is judged again by the caller that joined it
//	AgeOnly           ... by the fences too, even if the load is young
//	TickAtCall        ... by all fences known when the caller's lease was judged
//
// The log:
//
//	NoIdentity        an epoch belongs to one server and its memory
//	NoRecordIDs       the log knows the record at a caller's position by its id
//	NoAheadCheck      a caller ahead of the log makes it start an epoch
//	NoChain           a record names the one before it
//	NoEpochID         a frame is of the reader's own epoch
//
// Values built from values:
//
//	OuterAge          a value is no younger than the evidence for its parts
//
// Expiry:
//
//	SoftWins          an invalidation wins over an expiry
//	SoftInKeys        a process that misses an expiry gives up frames as well
//	FreshFrame        an entry notes that its frame had expired
//	FreshBuilt        a value built from a stale part is stale
//	FreshFill         ... and its frame says so
//
// The outbox:
//
//	AfterCommit       the row becomes visible together with the data
//	AnswerFirst       a round numbers what it has seen, then extends the lease
//	NumberFirst       cells are removed before their rows are numbered
//	RemoveInside      ... and not in the transaction of the writer
//	DeleteFirst       one statement deletes the rows and appends the record
//	LowLate           the low-water mark is from before the rows are staged
//	StagedElsewhere   rows are numbered by the server that they were staged on
//
// Some mutants do no harm alone, because there are two safety nets. The frame check stops what a
// removed cell and a compare-and-set let through, and the other way round. The tests list those as
// well, with the net that holds. They fail if such a mutant does harm, because then the list is
// wrong.
package explore
