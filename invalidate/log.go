package invalidate

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Log is the one order of invalidations that all processes of a fleet share. It has two
// sequences of records, one of keys and one of scopes (prefixes and tags). Each sequence is
// dense, totally ordered and can be read again for a while. A Log only transports records;
// package cache applies them.
//
// A log that may have lost its last records starts a new epoch before it takes another
// record. The epoch begins with one bump record in each sequence. A server can be restored to
// an older state without noticing it, so a position by itself proves nothing. Therefore every
// record has a random [Record.ID], and the id of an epoch is that of its bump records. A caller
// sends the ids that it knows with its cursor. When the log has other ids at these positions, that
// Sync starts a new epoch.
//
// A type that embeds a Log, for example to measure calls, has all of its methods, and no call bypasses those
// that it replaces. Its Sync must pass the whole [Append].
//
// All methods may be called concurrently and obey ctx. A Sync that ignores its ctx keeps a caller of
// Invalidate for as long as it takes, because it may run in the caller's goroutine. Package logtest
// has a conformance suite, a log in memory and a wrapper that injects faults.
type Log interface {
	// Validate returns what is wrong with the log's configuration, or nil. cache.Open refuses a log with an
	// error. It may be called before Open.
	Validate() error

	// Open gives the log the functions of its user, before the first Sync. If cache.Open fails, the log may be
	// opened again. Tiers of one process may share a log: each opens it, and the last one closes it.
	Open(h Hooks)

	// Server identifies the server on which Sync can remove and store cells, within the program. It is empty if
	// Sync can do neither. See tier.Description.
	Server() string

	// Sync does five things, in this order:
	//
	//   - It proves that this log is the one that takes records.
	//   - It starts a new epoch when the log may have lost records. It does so too when at is ahead
	//     of the log, or has ids that the log does not have.
	//   - It removes and stores the cells of a.
	//   - It appends a.
	//   - It returns the records after at, which include a and everything that was appended
	//     before Sync was called. When Page.More is set, another Sync returns the rest.
	//
	// Each log chooses its own proof, and documents which deposed servers it cannot recognize.
	//
	// After an error, the caller does not know whether a was appended. Appending it again does no
	// harm. Sync must not keep its arguments. The caller owns the Page.
	Sync(ctx context.Context, at Cursor, a Append) (Page, error)

	// Tail waits until there are records after at, and returns them. It proves nothing: it
	// may return an empty page early, skip trimmed records, or block until ctx ends.
	Tail(ctx context.Context, at Cursor) (Page, error)

	// Bound is how long a process may trust what it knows after a Sync. It is [MinBound] or
	// longer and never changes.
	Bound() time.Duration

	// Close ends all calls, and releases what the log has made for itself. A second Close does nothing.
	Close() error
}

// MinBound is the shortest Bound of a [Log]. In practice choose many round trips to the log.
const MinBound = time.Millisecond

// ErrBound refuses a [Log] whose Bound is shorter than [MinBound].
var ErrBound = errors.New("invalidate: the Bound of the log is too short")

// MaxCells is the most cells that one Sync removes.
const MaxCells = 1000

// Hooks are the functions that a [Log] gets from its user. They are for logs that take invalidations in other
// ways than Sync, such as rows of a database that were committed with the data. The functions may be called
// concurrently. The zero Hooks are those of a process without a remote tier that reads no rows.
type Hooks struct {
	// Tier is the name of the process's remote tier, which is the same in all processes that share the
	// tier. It is empty without a remote tier.
	Tier string

	// Remove removes the cells of keys, given by Scope.Text. No process has removed the cells of such
	// invalidations, so the log calls Remove before it turns them into records. An error means that some
	// cells may remain. It is nil without a remote tier.
	Remove func(ctx context.Context, keys []string) error

	// Named is called for each such invalidation that this process turns into a record: with the keys that
	// it names, given by Scope.Text, and for all keys of a namespace with the text that they begin with,
	// which ends with a colon. The record also gets the scopes that Named returns. Other programs, such as
	// triggers of a database, may have spelled the keys. A wrong spelling covers nothing, and no error says
	// so. It may be nil.
	Named func(keys []string) []Scope
}

// Cursor is the last position that a caller knows of each sequence, with the ids that tell it
// from the same position of another history. The zero Cursor is before every record that a
// log retains.
type Cursor struct {
	Key, Scope     Position // the last that are known; 0 if none is
	KeyID, ScopeID uint64   // Record.ID of the records at these positions; 0 if not known
	Epoch          uint64   // the id of the epoch that both are in; 0 if not known
}

// Append is what a Sync appends: at most one record to each sequence. An empty slice appends
// nothing to its sequence. Each slice holds at most [MaxFences], whose texts, with the tenants of tags,
// have at most [MaxText] bytes together.
type Append struct {
	Keys   []Fence // of KindKey, and not Soft
	Scopes []Fence // all others

	// Remove has the names of cells to remove, at most [MaxCells], and Store a cell to store. They are empty
	// unless the cells are on the log's Server. No Append has both.
	Remove []string
	Store  *Storing
}

// Storing is a value that a log on the server of its cell stores in the step that appends the record
// of its key. The step is a claim over what the cell holds, the record, and a fill. So it obeys
// the rules of tier.Remote, and nothing can come between its parts. The log may use it after Sync has returned.
type Storing struct {
	Cell  string        // the name of the cell
	Claim []byte        // the frame of the claim
	Lease time.Duration // of the claim
	Frame []byte        // as of the record that directly follows the caller's cursor
	TTL   time.Duration
}

// Stored says what became of a [Storing]. Zero means that there was none.
type Stored uint8

// The results of a step that stores. When records have come after the caller's cursor, the frame would be
// as of another record, and the caller has the claim. After an error, the claim or the frame may be in the
// cell.
const (
	Claimed Stored = iota + 1
	Filled
)

// The limits of a record: fences, and bytes of their texts.
const (
	MaxFences = 4096
	MaxText   = 1 << 20
)

// Page is a run of records, in order, from one log.
type Page struct {
	Keys, Scopes []Record // of the two sequences, oldest first
	More         bool     // Sync stopped before the log's end

	// End is where the log ended when Sync answered, with all ids. Tail leaves it zero.
	End Cursor

	// Key and Scope are the positions of the records that this Sync appended; zero where it
	// appended none.
	Key, Scope Position

	// Stored is what became of Append.Store.
	Stored Stored

	// Now is the log's own clock when the page was made, in unix microseconds, or 0 if it is not
	// known. Use it only to measure lag.
	Now int64

	// Bound is the largest Bound that any process has used with this log, or 0 if it is not known.
	// Settle of cache.Tiers waits that long.
	Bound time.Duration
}

// Record is one entry of a sequence.
type Record struct {
	At     Position // its place in its sequence
	ID     uint64   // random, never 0; the two bumps of an epoch share theirs, which is the epoch's
	After  uint64   // ID of the record before it in its sequence; 0 if there was none
	Bump   bool     // the first record of an epoch
	Prev   Position // of a bump: the last position before it that the log knows of
	Time   int64    // when it was appended, by the log's clock, in unix microseconds; 0 if not known
	Fences []Fence  // what was invalidated; none in a bump

	// Damaged says that the record does not decode. It may have fenced anything, so a reader
	// discards everything older.
	Damaged bool
}

// Fence is a scope as records carry it.
type Fence struct {
	Scope Scope // what it covers
	Soft  bool  // what it covers becomes stale, and is not removed
}

// OfKeys reports whether the fence belongs to the sequence of keys: it covers one key and is
// not soft. A process may miss the record of a key, because the cell of the key is removed
// first. A soft fence removes no cell, so a process must not miss its record.
func (f Fence) OfKeys() bool { return f.Scope.kind == KindKey && !f.Soft }

// PendingError says that an invalidation was applied in this process and is not complete. Its
// record is not in the log yet, or the remote tier still has a cell that it names. The process
// retries in the background. Until a retry succeeds, other processes that can reach the log may
// go on serving what the invalidation covers.
type PendingError struct {
	Pending int   // scopes that wait, including those of other calls
	Err     error // why the call stopped waiting, and why the last retry failed
}

// Error says how many scopes wait, and why.
func (e *PendingError) Error() string {
	wait := "scopes wait"
	if e.Pending == 1 {
		wait = "scope waits"
	}
	return fmt.Sprintf("invalidate: %d %s for the log: %v", e.Pending, wait, e.Err)
}

// Unwrap returns Err.
func (e *PendingError) Unwrap() error { return e.Err }
