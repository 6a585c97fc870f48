package tier

import (
	"context"
	"time"
)

// Local is a bounded tier in the process. It is addressed by a 64-bit hash and holds the entries that the
// cache gives it: pointers that belong to the cache, in which a tier never looks. Two keys with the same hash replace each other's entry, so the cache compares
// the key in the entry before it uses a hit.
//
// Two rules are part of the cache's guarantees: a Delete is visible to every Get that begins after it,
// and each entry that was Set is reported to [Hooks].Removed exactly once. A wrapper embeds a Local,
// and has all of its methods.
//
// All methods except Open may be called concurrently.
type Local interface {
	// Validate returns what is wrong with the tier's configuration, or nil. cache.Open refuses a tier
	// with an error. It may be called before Open.
	Validate() error

	// Open gives the tier the functions of its user. It is called once, before the first use. A tier
	// belongs to one cache.Tiers. If cache.Open fails, the tier may be opened again.
	Open(h Hooks)

	// Get returns the last entry that was Set under hash. It takes no lock that the Get of
	// another key may hold, and allocates nothing.
	Get(hash uint64) (e any, ok bool)

	// Set makes e visible under hash before it returns, and replaces the older entry. Cost is in
	// bytes. Set returns false when it does not keep e: e is larger than the tier accepts, or the tier
	// is closed. Then it has reported e as [Rejected] or [Closed], and has removed the older entry,
	// too.
	//
	// A tier removes an entry within a minute of its end, and before it evicts an entry that has not
	// ended. See [Hooks].ExpiresAt.
	Set(hash uint64, e any, cost int64) bool

	// Delete removes the entry under hash. No Get that begins after Delete has returned finds an entry
	// whose Set had returned before Delete began. An entry that was still in a buffer of the tier does
	// not come back.
	Delete(hash uint64)

	// Range calls f with each entry until f returns false. It must show every entry that Get finds
	// from before the call of Range until after it returns. It may show an entry that enters or leaves
	// meanwhile, and may show an entry twice. Range does not count as a use of an entry. It holds no
	// lock while f runs, so f may call the tier.
	Range(f func(e any) bool)

	// Stats may be called at any time, and returns immediately.
	Stats() LocalStats

	// Close removes every entry, and reports it as [Closed]. It releases memory and ends goroutines.
	// Get after Close misses. When Close and the calls beside it have returned, every entry that was
	// Set has been reported.
	Close() error
}

// Hooks are the functions that a [Local] tier gets from its user. The cache sets all of them.
type Hooks struct {
	// Now returns the time in nanoseconds, from an origin of the user's. Any goroutine may call it,
	// even with a lock of the tier held. It returns immediately and does not call the tier.
	Now func() int64

	// ExpiresAt returns the time on that clock from which the user has no use for an entry, or
	// math.MaxInt64 for never. Any goroutine may call it, even with a lock of the tier held. It
	// returns immediately and does not call the tier.
	//
	// The end of an entry may move. Therefore the tier asks again before it removes the entry, and
	// asks every minute about each entry that had an end when it was Set.
	ExpiresAt func(e any) int64

	// Removed is called exactly once for each Set, when Get does not find its entry any more, or never
	// did. Cost is that of the Set. It runs on the goroutine of the call that made the entry leave,
	// before that call returns, or on a goroutine of the tier. Locks of the tier may be held, so it
	// must return immediately and must not call the tier. When it panics, the tier stays intact and
	// still reports every other entry.
	Removed func(e any, cost int64, reason EvictReason)
}

// LocalStats is the size of a [Local] tier. The numbers may differ by calls that run meanwhile.
type LocalStats struct {
	Bytes   int64 // of the entries that Get finds, by the costs that Set got
	Entries int64 // that Get finds

	Used     int64 // what the entries take from MaxBytes: Bytes, and the tier's overhead
	MaxBytes int64 // the budget
}

// EvictReason says why an entry left a [Local] tier.
type EvictReason uint8

// The reasons why an entry leaves a local tier.
const (
	Evicted  EvictReason = iota + 1 // pushed out by the byte budget
	Rejected                        // refused by admission or by its own size
	Replaced                        // a newer entry took its hash
	Deleted                         // Delete was called
	Expired                         // its end has passed; see Hooks.ExpiresAt
	Closed                          // it was there when the tier was closed, or was Set later
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
	case Expired:
		return "expired"
	case Closed:
		return "closed"
	}
	return "unknown"
}

// Validator is a remote tier that can check its configuration. cache.Open calls Validate once, and
// refuses the tier when it returns an error.
type Validator interface {
	Validate() error
}

// Pinger is a [Remote] that can check whether it is reachable.
type Pinger interface {
	// Ping returns nil if the tier answers before ctx ends.
	Ping(ctx context.Context) error
}

// Named is a [Remote] with a name. A log in a database needs it; see invalidate.CellUser. The name
// of a Go type would not do, because a wrapper of the tier has another type.
type Named interface {
	// Name returns what all processes that share the tier have in common, such as the kind of
	// server and the prefix of keys. It must not depend on the address that a process uses.
	Name() string
}

// Namer is a [Remote] on one server, on which another component may remove cells, too.
type Namer interface {
	// Names returns what identifies the server within the program, such as the client, and
	// the names of the cells on it. A nil server means that there is more than one server.
	Names(keys []string) (server any, names []string)
}

// Remote is a tier shared by processes: a map from string keys to [Cell] frames, with
// compare-and-set on the nonce of a frame. The four operations are atomic for each key. All
// methods may be called concurrently. A client library may repeat them without harm.
//
// All methods obey ctx. They run in the goroutine of the cache's caller, so a method that ignores
// its ctx keeps the caller beyond its own deadline. To run each call in a goroutine of its own
// would take about a microsecond and two allocations, which each healthy call would pay.
//
// The rules for one key:
//
//   - Get returns the frame, or nil for none.
//   - Claim of an empty key, or of a frame whose nonce is Claim.Seen, stores a lease frame that
//     carries Claim.Nonce and expires after Claim.Lease. A claim whose nonce is already there is
//     granted again and restarts its lease. Any other claim is refused and returns the current
//     frame, which saves a Get.
//   - A long load renews its claim by claims whose Seen is their own Nonce. The tier grants a
//     renewal only while that claim is there, and returns no frame. A claim that was unlinked must
//     not come back, because its load may be older than the unlinking, and could fill.
//   - Claim with Refresh leaves the value in place. It is granted only when the frame is a value
//     whose nonce is Seen and whose RefreshUntil is in the past by the tier's own clock. It writes
//     only Nonce, and a RefreshUntil of Lease from now, into the header of the frame.
//   - Fill stores the frame only if the current nonce is Fill.Nonce. A Fill with an empty Cell
//     releases the claim. It removes a lease frame of that nonce. A value that was claimed for
//     refresh stays, and may be claimed again immediately.
//   - Unlink removes any frame, so no earlier claim can fill. When it fails only for some keys, its
//     error wraps a [KeysError] that names them. After any other error, each of the keys may still
//     be there.
//   - Bytes that are not a frame belong to no process. Any claim may overwrite fewer than nine
//     bytes, or a nonce of zeros. A claim whose Seen is bytes 1 to 8 may overwrite others.
//   - A claim or fill with the zero nonce is refused, with an error or without.
//
// [Claim.Over] and [Fill.Over] implement these rules, for tiers that can compare and swap a whole
// frame.
//
// # Wrappers
//
// A type that embeds a Remote, for example to measure calls, has only these four methods. It hides
// the optional methods of the tier that it wraps. Give it two things:
//
//   - A method Unwrap() tier.Remote that returns what it wraps, if keys and frames pass
//     unchanged. The cache then finds [Named], [Namer] and [Validator] there.
//   - The methods of [Batcher], which see the calls for many keys. Unwrap does not give access to
//     them, because a call must not bypass the wrapper.
//
// A caller may change a slice that it passed after the call has returned. The caller owns the
// slices that come back.
type Remote interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Claim(ctx context.Context, key string, c Claim) (Claimed, error)
	Fill(ctx context.Context, key string, f Fill) (bool, error)
	Unlink(ctx context.Context, keys ...string) error
}

// KeysError is the error of an Unlink that names the keys whose cells may still be there. The
// cells of the other keys are removed.
type KeysError struct {
	Keys []string // as they were passed to Unlink
	Err  error    // why
}

// Error says why the keys failed. It does not name them, because errors end up in logs.
func (e *KeysError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *KeysError) Unwrap() error { return e.Err }

// FailedKeys returns Keys, for packages that do not import this one.
func (e *KeysError) FailedKeys() []string { return e.Keys }

// Claim is a request for the right to load one key.
type Claim struct {
	Seen    Nonce         // nonce of the frame that the caller saw; zero if it saw none
	Nonce   Nonce         // a new nonce of the caller, not zero
	Lease   time.Duration // how long the claim lasts, at millisecond precision
	Refresh bool          // keep serving the value while it is being refreshed
}

// Claimed is the answer to a [Claim].
type Claimed struct {
	Granted bool   // the caller has the claim, and may load
	Cell    []byte // when refused: the current frame; nil for a refused refresh or renewal
}

// Fill stores a frame by compare-and-set. An empty Cell releases the claim.
type Fill struct {
	Nonce Nonce         // the nonce of the claim
	Cell  []byte        // the encoded frame
	TTL   time.Duration // at millisecond precision; at least 1 ms when Cell is not empty
}

// Looker is a [Remote] that reads a key, and claims it if there is no frame, in one round trip. With
// it, a key that is in no tier costs one round trip less. As with [Batcher], the cache does not
// look for it behind a wrapper.
type Looker interface {
	// Look is a Get for a caller that loads the key if there is no frame. It returns the frame as
	// Get does. If there is none, Look may grant the claim c, whose Seen is zero and which is not a
	// Refresh. If it grants nothing and returns no frame, there is no frame and no claim of c. A
	// frame that carries the nonce of c is the claim itself: a client library has sent the command
	// twice. After an error, the claim may stand.
	Look(ctx context.Context, key string, c Claim) (Claimed, error)
}

// Batcher is a [Remote] that handles many keys in one round trip per node. Each method returns
// one answer for each key, in the order of its arguments. An error says that some keys could not
// be reached: their answers are zero, and the other answers are valid. Call a Batcher through the
// helpers [GetMany], [ClaimMany] and [FillMany], which check the number of answers.
type Batcher interface {
	GetMany(ctx context.Context, keys []string) ([][]byte, error)
	ClaimMany(ctx context.Context, keys []string, claims []Claim) ([]Claimed, error)
	FillMany(ctx context.Context, keys []string, fills []Fill) ([]bool, error)
}
