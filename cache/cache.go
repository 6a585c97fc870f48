package cache

import (
	"context"
	"hash/maphash"
	"math/bits"
	"sync/atomic"

	"github.com/twofold-go/twofold/codec"
	calls "github.com/twofold-go/twofold/internal/flight"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/policy"
)

// DefaultTenant is the tenant of a cache that names none.
const DefaultTenant = "default"

// Loader loads one value. It returns [ErrNotFound] when there is none. Its
// context outlives the caller that caused the load, carries that caller's
// values, and is cancelled when nobody waits any more or when the policy's
// LoadTimeout is over. The zero value with a nil error is a value, not absence.
type Loader[K comparable, V any] func(context.Context, K) (V, error)

// ManyLoader loads many values at once. Keys that are missing from the map do
// not exist. With an error, the keys in the map succeed and the others fail
// with it; [KeyErrors] makes one that names the keys that failed, and then the others
// do not exist. What another cache's GetMany returned may be returned as it is. The slice
// belongs to the cache and must not be kept.
type ManyLoader[K comparable, V any] func(context.Context, []K) (map[K]V, error)

// Config says what one cache is. Namespace is required; the rest has useful
// zero values.
type Config[K comparable, V any] struct {
	// Namespace tells this cache's keys from those of others, for example
	// "users:v1". Change it when the meaning of the values changes. No namespace may
	// be the first part of another, as "users" is of "users:v1": All and DeleteAll of
	// the shorter one would reach both. New refuses that on one Tiers; where other
	// processes share the remote tier or the log, it is up to you.
	Namespace string

	// Tenant is whose keys the cache itself reads and writes; Cache.Tenant
	// gives handles for others. Empty: DefaultTenant.
	Tenant string

	// Load loads one value, LoadMany many. With LoadMany alone, single reads
	// use it too. With neither, reads that find nothing return ErrMiss, unless
	// the call brings a loader.
	Load     Loader[K, V]
	LoadMany ManyLoader[K, V]

	// MaxBatch is the most keys LoadMany is called with. 0: 100.
	MaxBatch int

	// Tags returns the tags a value carries, beside those recorded by Depend. A value with
	// more than 256 in all is invalidated by any tag of any tenant, not by its own alone;
	// Counts.FillsManyTags counts those. It must not keep or change the value. Nil: none.
	Tags func(K, V) []string

	// Policy changes the default policy for this namespace. The Tiers' table
	// of overrides comes after it. The zero Patch changes nothing.
	Policy policy.Patch

	// LocalOnly keeps the cache out of the remote tier: it reads, claims and stores nothing
	// there, so V need not encode, and each process loads for itself. Its invalidations go to
	// the log all the same, so that the copies of other processes go. Set it alike wherever
	// the namespace is used. False: the remote tier is used if there is one.
	LocalOnly bool

	// Codec encodes values for the remote tier. With such a tier, New refuses a V
	// that Codec does not bring back as it was; see codec.Checker and codec.Lossy.
	// A value of 4 KiB or more is stored by codec.Snappy of Codec where that makes
	// it smaller, if the Tiers know a codec with that ID: they do for those of
	// codec.Builtin, and for one's own if TiersConfig.Codecs has it. Nil:
	// codec.JSON.
	Codec codec.Codec

	// Schema tells versions of V apart that look alike to codec.Fingerprint.
	// A cell written under another schema is a miss. Empty: none.
	Schema string

	// Clone returns a copy of a value that shares nothing mutable with it. Set
	// it when callers or loaders change values after they were handed over.
	// Nil: values are shared and must not be changed; programs built with the
	// race detector panic when one was.
	Clone func(V) V

	// Size returns the bytes a value occupies in memory. Nil: estimated by
	// reflection.
	Size func(V) int64

	wantsLoad bool // made by For
}

// Cache reads and writes the values of one namespace for one tenant. It is a
// small value: copy it freely. Make one with [New]; every method of the zero
// Cache fails. All methods may be called concurrently.
type Cache[K comparable, V any] struct {
	s *shared[K, V]
	v *view
}

// shared is what the handles of one cache have in common.
type shared[K comparable, V any] struct {
	t       *Tiers
	cfg     Config[K, V]
	far     *remote.Tier // nil: the cache has none
	codec   codec.Codec
	schema  uint64
	size    func(*V) int64
	flights *calls.Group[*flight[K, V], outcome[K, V]]
	views   *views

	snappyID string      // of the codec that reads large values once compressed; "": none does
	tripped  atomic.Bool // a value has come back from the codec as it was
}

// slot returns the local tier's address of a key: a hash of the typed key, so
// that a hit never spells it out.
func (c Cache[K, V]) slot(k K) uint64 {
	hi, lo := bits.Mul64(maphash.Comparable(c.s.t.seed, k)^c.v.seed, 0x9e3779b97f4a7c15)
	return hi ^ lo
}
