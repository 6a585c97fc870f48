package invalidate

import (
	"context"
	"fmt"
	"time"
)

// Log is the one order of invalidations that all processes of a fleet agree
// on: two sequences of records, one of keys and one of scopes (prefixes and
// tags), each of them dense, totally ordered and replayable for a while. What
// a process makes of it is the business of package cache; a Log only carries.
//
// A log that may have lost its end starts a new epoch, with one bump record in
// each sequence, before it takes another record. Servers can be put back to what
// they were in ways that no server notices, so a position alone proves nothing:
// every record has a random [Record.ID], and every epoch has the id of its bump
// records. A caller sends the ids that it knows with its cursor. When the log has
// other ids there, that Sync starts a new epoch.
//
// All methods may be called concurrently. Package logtest has a conformance
// suite, a log in memory and a wrapper that injects faults.
type Log interface {
	// Sync does three things, in this order. It proves that the log is the one
	// that takes records, and starts a new epoch when the log may have lost
	// records, when at lies ahead of it, and when at has ids that are not the
	// log's. It appends a. It returns what lies behind at, a included, and
	// whatever was appended before Sync was called. When Page.More is set,
	// another Sync fetches the rest.
	//
	// How a log proves itself is its own affair. A server that can be deposed
	// without knowing it has to take a write.
	//
	// With an error, a may have been appended or not; appending it again does
	// no harm. What Sync was told must not be kept, what it returns is the
	// caller's.
	Sync(ctx context.Context, at Cursor, a Append) (Page, error)

	// Tail waits until something lies behind at and returns it. It proves
	// nothing: it may return an empty page early, skip what was trimmed, or
	// hang until ctx ends.
	Tail(ctx context.Context, at Cursor) (Page, error)

	// Bound is how long a process may trust what it knows after a Sync. It is
	// positive and never changes.
	Bound() time.Duration
}

// CellRemover is a [Log] that keeps its records where a remote tier keeps its
// cells, and can remove cells and append in one step: an invalidation of keys
// costs no more than one of a tag then.
type CellRemover interface {
	// RemovesFrom reports whether the log can remove cells from a server, as
	// tier.Namer tells of it.
	RemovesFrom(server any) bool

	// SyncRemoving is Sync, but removes cells before it appends. They are given
	// by the names that tier.Namer has for them, at most [MaxCells].
	SyncRemoving(ctx context.Context, at Cursor, a Append, cells []string) (Page, error)
}

// MaxCells is the most cells that one step removes.
const MaxCells = 1000

// CellUser is a [Log] that takes invalidations by other ways than Sync, such as rows of
// a database that were committed with the data. No process has removed the cells that
// those name, so the log does it before it makes them records.
type CellUser interface {
	// UseCells is called once, before the first Sync, by whoever follows the log.
	// Tier says what the process's remote tier is, the same in all processes that share
	// it; it is empty, and remove nil, where there is none. Remove removes the cells of
	// keys, given by Scope.Text, and keeps others from storing them for hold, if that is
	// positive. Its error says that some may still be there. It may be called concurrently.
	UseCells(tier string, remove func(ctx context.Context, keys []string, hold time.Duration) error)
}

// Cursor is the last position known of each sequence, with what tells it from the
// same position of another history. The zero Cursor lies before whatever a log
// retains.
type Cursor struct {
	Key, Scope     Position // the last that are known; 0: none
	KeyID, ScopeID uint64   // Record.ID of the records at these positions; 0: not known
	Epoch          uint64   // the id of the epoch that both are in; 0: not known
}

// Append is what a Sync appends: at most one record to each sequence, and none
// where the slice is empty. Each holds at most [MaxFences].
type Append struct {
	Keys   []Fence // of KindKey, and not Soft
	Scopes []Fence // all others
}

// MaxFences is the most fences one record holds.
const MaxFences = 4096

// Page is a run of records, in order, from one log.
type Page struct {
	Keys, Scopes []Record // of the two sequences, oldest first; the caller's
	More         bool     // a Sync stopped short of the log's end

	// End is where the log ended when a Sync was answered, with all ids. It is
	// the zero Cursor in the pages of a Tail.
	End Cursor

	// Key and Scope are the positions of what this Sync appended; zero where
	// it appended nothing.
	Key, Scope Position

	// Now is the log's own clock when the page was made, in unix microseconds;
	// 0 when it is not known. It is for measuring lag and for nothing else.
	Now int64

	// Bound is the largest Bound that any process has used with this log; 0
	// when it is not known. Strict waits for that long.
	Bound time.Duration
}

// Record is one entry of a sequence.
type Record struct {
	At     Position // its place in its sequence
	ID     uint64   // random, never 0; the two bumps of an epoch share theirs, which is the epoch's
	After  uint64   // ID of the record before it in its sequence; 0: there was none
	Bump   bool     // the first record of an epoch
	Prev   Position // of a bump: the last position before it that the log knows of
	Time   int64    // when it was appended, by the log's clock, in unix microseconds; 0: not known
	Fences []Fence  // what was invalidated; none in a bump

	// Damaged says that the record does not decode: whatever it fenced is not
	// known, so everything older is given up.
	Damaged bool
}

// Fence is a scope as records carry it: by hash. Two scopes of one hash cause
// extra misses and nothing worse.
type Fence struct {
	Kind Kind          // of the scope
	Hash uint64        // Scope.Hash of it
	Len  int           // of a prefix: its length in bytes
	Hold time.Duration // nobody caches what it covers for so long; 0: at once
	Soft bool          // it ends the freshness of what it covers, and not its life
}

// OfKeys reports whether the fence belongs into the sequence of keys: it is of one key, and
// not soft. A soft one removes no cell, so its record must not be missed as one of a key
// may be.
func (f Fence) OfKeys() bool { return f.Kind == KindKey && !f.Soft }

// Fence returns what a record carries of s, which has passed Validate. Of a [Hold] that is
// how long it lasts, and of [Strict] nothing.
func (s Scope) Fence() Fence {
	switch s.kind {
	case kindStrict, kindHold:
		return Fence{Hold: s.hold}
	case KindPrefix:
		return Fence{Kind: KindPrefix, Hash: s.Hash(), Len: len(s.text)}
	case KindKey, KindTag, KindAll:
	}
	return Fence{Kind: s.kind, Hash: s.Hash()}
}

// PendingError says that an invalidation was applied in this process, but is
// not in the log yet, or that a cell it names is not yet removed from the
// remote tier: it is retried in the background. Until it is through, other
// processes may serve what it covers for as long as they reach the log.
type PendingError struct {
	Pending int   // scopes that wait, those of other calls included
	Err     error // why the call waits no longer, and why the last try failed
}

// Error says how many scopes wait, and why.
func (e *PendingError) Error() string {
	return fmt.Sprintf("invalidate: %d scopes wait for the log: %v", e.Pending, e.Err)
}

// Unwrap returns why the last try failed.
func (e *PendingError) Unwrap() error { return e.Err }
