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

// Remote is a tier shared by processes: a map from string keys to [Cell] frames, with
// compare-and-set on the nonce of a frame. Get, Claim, Fill and Remove are for many keys, in few round
// trips. They are atomic for each key, and not for all keys of a call. All methods may be called
// concurrently. A client library may repeat calls without harm.
//
// The slices of one call have the same length. A key may be there twice. The caller makes the slice of
// the answers, with zero elements. The tier writes the answer for the i-th key into the i-th element. An
// error says that some keys could not be reached: their answers stay zero, and the other answers are
// valid. The tier must not change its other arguments, and must not use any after it has returned. The
// caller owns the frames in the answers, which share no memory.
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
//     renewal only while that claim is there, and returns no frame. A claim that was removed must
//     not come back, because its load may be older than the removal, and could fill.
//   - Claim with Refresh leaves the value in place. It is granted only when the frame is a value
//     whose nonce is Seen and whose RefreshUntil is in the past by the tier's own clock. It writes
//     only Nonce, and a RefreshUntil of Lease from now, into the header of the frame.
//   - Claim with Look is a read that may claim; see [Claim]. It comes only to a tier whose Description
//     says so, and alone.
//   - Fill stores the frame only if the current nonce is Fill.Nonce. A Fill with an empty Cell
//     releases the claim. It removes a lease frame of that nonce. A value that was claimed for
//     refresh stays, and may be claimed again immediately.
//   - Remove removes any frame, so no earlier claim can fill. When it fails only for some keys, its
//     error wraps a [KeysError] that names them. After any other error, each of the keys may still
//     be there.
//   - Bytes that are not a frame belong to no process. Any claim without Look may overwrite fewer than
//     nine bytes, or a nonce of zeros. A claim whose Seen is bytes 1 to 8 may overwrite others.
//   - A claim or fill with the zero nonce is refused, with an error or without.
//
// [Claim.Over] and [Fill.Over] implement these rules, for tiers that can compare and swap a whole
// frame.
//
// # Wrappers
//
// A type that embeds a Remote, for example to measure calls, has all of its methods. It replaces those
// that it has to see. No call bypasses it; see Describe.
type Remote interface {
	// Validate returns what is wrong with the tier's configuration, or nil. cache.Open calls it once, and
	// refuses a tier with an error.
	Validate() error

	// Describe returns what the cache and a log must know about the tier. Self is the tier that the cache was
	// given. If self is not the tier itself, it is a wrapper, and Server must be empty, because the log would
	// bypass the wrapper. A wrapper that need not see every call, and that keys and frames pass unchanged, may, if self is that wrapper,
	// return the Description that the inner tier gives of itself.
	Describe(self Remote) Description

	Get(ctx context.Context, keys []string, frames [][]byte) error
	Claim(ctx context.Context, keys []string, claims []Claim, answers []Claimed) error
	Fill(ctx context.Context, keys []string, fills []Fill, stored []bool) error
	Remove(ctx context.Context, keys []string) error
}

// Description describes a [Remote]. Name is required. The zero value of the other fields is right for most
// tiers.
type Description struct {
	// Name is what all processes that share the tier have in common, such as the kind of server and the
	// prefix of keys. It must not depend on the address that a process uses. A log in a database compares
	// it, because the log removes cells for all processes.
	Name string

	// Looks says that the tier may grant a claim with Look.
	Looks bool

	// Server is for a log on the same server, which can then remove and store cells in the step in which it
	// appends. It identifies the server within the program, as Server of invalidate.Log does. It is empty if
	// the cells are not all on one server, or if only the tier may touch them. The name of each cell on the
	// server is Prefix and the key.
	Server, Prefix string
}

// KeysError is the error of a Remove that names the keys whose cells may still be there. The
// cells of the other keys are removed.
type KeysError struct {
	Keys []string // as they were passed to Remove
	Err  error    // why
}

// Error says why the keys failed. It does not name them, because errors end up in logs.
func (e *KeysError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *KeysError) Unwrap() error { return e.Err }

// FailedKeys returns Keys, for packages that do not import this one.
func (e *KeysError) FailedKeys() []string { return e.Keys }

// Claim is a request for the right to load one key.
//
// With Look, it is a read of a caller that loads the key if there is no frame: a key that is in no tier then
// costs one round trip less. If there is a frame, it stays as it is, and is the answer. If there is none, the
// tier grants the claim, or leaves it out and answers nothing. A frame that carries the claim's own nonce
// is the claim itself: a client library has sent the command twice. After an error, the claim may stand.
type Claim struct {
	Seen    Nonce         // nonce of the frame that the caller saw; zero if it saw none
	Nonce   Nonce         // a new nonce of the caller, not zero
	Lease   time.Duration // how long the claim lasts, at millisecond precision
	Refresh bool          // keep serving the value while it is being refreshed
	Look    bool          // the frame is wanted, and the claim only if there is none; without Seen and Refresh
}

// Claimed is the answer to a [Claim].
type Claimed struct {
	Granted bool   // the caller has the claim, and may load
	Cell    []byte // when refused: the current frame; nil for a refused refresh or renewal, and a look that found none
}

// Fill stores a frame by compare-and-set. An empty Cell releases the claim.
type Fill struct {
	Nonce Nonce         // the nonce of the claim
	Cell  []byte        // the encoded frame
	TTL   time.Duration // at millisecond precision; at least 1 ms when Cell is not empty
}
