package tier

import (
	"context"
	"time"
)

// Local is a bounded in-process tier. It is addressed by a 64-bit hash and
// holds whatever the cache hands it; two keys with one hash evict each other,
// and the cache compares the entry's own key before it believes a hit.
//
// All methods may be called concurrently.
type Local interface {
	// Get returns the entry last Set under hash. It takes no lock that another
	// key's Get could hold, and allocates nothing.
	Get(hash uint64) (e Entry, ok bool)

	// Set makes e visible under hash before it returns, replacing what was
	// there. Cost is in bytes. It reports false when e is larger than the tier
	// accepts; the older entry is gone all the same.
	Set(hash uint64, e Entry, cost int64) bool

	// Delete removes the entry under hash. Correctness never rests on it.
	Delete(hash uint64)

	// Close releases memory and goroutines. Get after Close misses.
	Close() error
}

// Entry is what a [Local] tier holds: a pointer that belongs to the cache. A
// tier never looks inside.
type Entry = any

// EvictReason says why an entry left a [Local] tier.
type EvictReason uint8

// The reasons an entry leaves a local tier.
const (
	Evicted  EvictReason = iota + 1 // pushed out by the byte budget
	Rejected                        // refused by admission or by its own size
	Replaced                        // a newer entry took its hash
	Deleted                         // Delete was called
)

// String returns the reason in lower case.
func (r EvictReason) String() string {
	switch r {
	case Evicted:
		return "evicted"
	case Rejected:
		return "rejected"
	case Replaced:
		return "replaced"
	case Deleted:
		return "deleted"
	}
	return "unknown"
}

// EvictNotifier is a [Local] that reports every entry that leaves it, once,
// whatever the reason. OnEvict is called once, before first use. The callback
// runs on whichever goroutine caused the eviction and must not call back into
// the tier. When it panics, the tier stays whole, and goes on reporting.
type EvictNotifier interface {
	OnEvict(func(e Entry, cost int64, reason EvictReason))
}

// Meter is a [Local] that knows its size: the bytes (by the costs it was
// given) and the number of entries it holds now.
type Meter interface {
	// Usage may be called at any time, and returns at once.
	Usage() (bytes, entries int64)
}

// Ranger is a [Local] that can show what it holds, so that the cache can judge all
// of it in the background. Without it the cache loses entries when more is
// invalidated than it can remember.
type Ranger interface {
	// Range calls f with each entry until f returns false. It shows every entry
	// that Get finds from before Range is called until after it returns. One that
	// comes or goes meanwhile may be shown, and an entry may be shown twice. It is
	// no use of an entry, and holds no lock while f runs, which may call the tier.
	Range(f func(e Entry) bool)
}

// Validator is a tier with a configuration that can be wrong. cache.Open calls
// Validate once and refuses the tier when it returns an error.
type Validator interface {
	Validate() error
}

// Pinger is a [Remote] that can be asked whether it is there.
type Pinger interface {
	// Ping returns nil if the tier has answered before ctx ended.
	Ping(ctx context.Context) error
}

// Named is a [Remote] that can say which one it is.
type Named interface {
	// Name says what all processes that share the tier share, such as the kind of
	// server and the prefix of keys, and not by which address one of them reaches it.
	Name() string
}

// Namer is a [Remote] on one server that others may remove cells from, too.
type Namer interface {
	// Names returns what identifies the server, as far as the program knows it
	// (the client it was given, for example), and the cells' names there. A nil
	// server means that there is more than one.
	Names(keys []string) (server any, names []string)
}

// Remote is a tier shared by processes: a map from string keys to [Cell]
// frames with a compare-and-set on the frame's nonce. The four operations are
// atomic per key. All methods may be called concurrently, obey ctx, and may be
// repeated by a client library without harm.
//
// The rules for one key:
//
//   - Get returns the frame, or nil when there is none.
//   - Claim with an empty key, or one whose nonce is Claim.Seen, puts a lease
//     frame there that carries Claim.Nonce and expires after Claim.Lease. A
//     claim repeated with the nonce that is already there is granted again and
//     starts its lease anew. Otherwise it is refused and the current frame comes
//     back, which saves a Get. A hold frame refuses every claim and does not come
//     back.
//   - A long load keeps its claim by claims whose Seen is their own Nonce. They
//     are granted only while that claim stands, and no frame comes back: a claim
//     that was unlinked must not return, or a load that is older than the
//     unlinking could fill.
//   - Claim with Refresh leaves the value in place: it is granted only when
//     the frame is a value whose nonce is Seen and whose RefreshUntil lies in
//     the past by the tier's own clock. It then writes Nonce and a RefreshUntil
//     Lease from now into the frame's header and nothing else.
//   - Fill stores the frame only if the nonce there is Fill.Nonce. With an
//     empty Cell it releases: a lease frame of that nonce is removed, a value
//     that was claimed for refresh stays and may be claimed again at once.
//   - Unlink removes whatever is there, so that no earlier claim can fill. When
//     it fails for some keys alone, its error wraps a [KeysError] that names
//     them. Any other error means that each of the keys may still be there.
//   - What is no frame is nobody's: with fewer than nine bytes, or a nonce of
//     zeros, any claim may overwrite it; with more, one whose Seen is bytes 1 to
//     8. A claim or fill with the zero nonce is an error.
//
// [Claim.Over] and [Fill.Over] are these rules as functions, for tiers that can
// compare and swap a whole frame.
//
// A caller may change a slice it passed after the call returns; a slice that
// comes back belongs to the caller.
type Remote interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Claim(ctx context.Context, key string, c Claim) (Claimed, error)
	Fill(ctx context.Context, key string, f Fill) (bool, error)
	Unlink(ctx context.Context, keys ...string) error
}

// KeysError is the error of an Unlink that names the keys whose cells may still
// be there. The cells of the others are gone.
type KeysError struct {
	Keys []string // as they were passed to Unlink
	Err  error    // why
}

// Error says why the keys failed, and not which: errors end up in logs.
func (e *KeysError) Error() string { return e.Err.Error() }

// Unwrap returns why the keys failed.
func (e *KeysError) Unwrap() error { return e.Err }

// FailedKeys returns Keys, for packages that do not know this one.
func (e *KeysError) FailedKeys() []string { return e.Keys }

// Claim asks for the right to load one key.
type Claim struct {
	Seen    Nonce         // nonce of the frame the caller saw; zero when it saw none
	Nonce   Nonce         // the caller's own, fresh and not zero
	Lease   time.Duration // after this, at millisecond precision, the claim lapses
	Refresh bool          // keep serving the value while it is being refreshed
}

// Claimed is the answer to a [Claim].
type Claimed struct {
	Granted bool   // the claim stands, and the caller may load
	Cell    []byte // when refused: the frame that stands there; nil for a hold or a refused refresh
}

// Fill stores a frame by compare-and-set. An empty Cell releases the claim.
type Fill struct {
	Nonce Nonce         // of the claim that it fills
	Cell  []byte        // the frame, a Cell encoded
	TTL   time.Duration // at millisecond precision; at least 1 ms when Cell is not empty
}

// Batcher is a [Remote] that does many keys in one round trip per node. Each
// method gives one answer for each key, in the order of its arguments. An error
// says that some keys could not be reached: their answers are zero, the others
// stand. Call a Batcher by the helpers [GetMany], [ClaimMany] and [FillMany],
// which check the number of answers.
type Batcher interface {
	GetMany(ctx context.Context, keys []string) ([][]byte, error)
	ClaimMany(ctx context.Context, keys []string, claims []Claim) ([]Claimed, error)
	FillMany(ctx context.Context, keys []string, fills []Fill) ([]bool, error)
}
