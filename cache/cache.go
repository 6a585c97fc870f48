package cache

import (
	"context"
	"hash/maphash"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/policy"
)

// DefaultTenant is the tenant of a cache whose Config has no Tenant.
const DefaultTenant = "default"

// Loader loads one value. It returns [ErrNotFound] when there is none. Its context carries the
// values of the caller that caused the load, but outlives that caller. It is cancelled when no
// caller waits any more, or after the policy's LoadTimeout. The zero value with a nil error is a
// value, not an absence.
type Loader[K comparable, V any] func(context.Context, K) (V, error)

// ManyLoader loads many values in one call. With a nil error, keys that are missing from the map do
// not exist. With an error, the keys in the map succeed and the others fail with that error.
// [KeyErrors] makes an error that names the failed keys; then the others do not exist. A
// ManyLoader may return the results of another cache's GetMany unchanged. The slice belongs to
// the cache and must not be kept.
type ManyLoader[K comparable, V any] func(context.Context, []K) (map[K]V, error)

// Config describes one cache. Namespace is required. The other fields have useful zero values.
type Config[K comparable, V any] struct {
	// Namespace separates this cache's keys from those of other caches, for example "users:v1".
	// Change it when the meaning of the values changes. Do not use both "users" and "users:v1":
	// DeleteAll of "users" would delete both. New refuses such a pair on one Tiers. It cannot see
	// the namespaces of other processes that share the remote tier or the log.
	Namespace string

	// Tenant owns the keys that the cache itself reads and writes. Cache.Tenant gives handles
	// for other tenants. If empty, it is DefaultTenant.
	Tenant string

	// Load loads one value, LoadMany many. If only LoadMany is set, single reads also use it. With
	// neither, a read that finds nothing returns ErrMiss, unless the call brings a loader.
	Load     Loader[K, V]
	LoadMany ManyLoader[K, V]

	// MaxBatch is the largest number of keys in one call of LoadMany. If zero, it is 100.
	MaxBatch int

	// Tags returns the tags of a value, in addition to those that Depend records. If a value has
	// more than 256 in all, the invalidation of any tag of any tenant covers it.
	// FillCounts.ManyTags counts such values. Tags depends on the key and the value alone: a remote
	// value without one of its tags was stored by a process with other Tags, and is a miss.
	// It must not read what the codec leaves out. Tags must not keep or change the value. If nil, it adds no tags.
	Tags func(K, V) []string

	// Empty reports whether a value is empty, such as a list without elements. Such a value is
	// returned without an error, but is kept only as long as an absence. It is fresh for the
	// policy's NegativeTTL, even with the option TTL, and never served stale. If NegativeTTL is
	// zero it is not stored: Set then only invalidates. From its loader, only the TTL and
	// NoStore count. A value that a process without Empty has stored keeps the lifetime of that process.
	// Empty must not keep or change the value. If nil, no value is empty.
	Empty func(V) bool

	// Policy changes the default policy for this namespace. The Tiers' table
	// of overrides is applied after it. The zero Patch changes nothing.
	Policy policy.Patch

	// LocalOnly keeps the cache out of the remote tier. It reads, claims and stores nothing
	// there, so V need not encode, and each process loads for itself. Its invalidations still go
	// to the log, because other processes must drop their copies. Use the same value wherever the
	// namespace is used. If false, the cache uses the remote tier if there is one.
	LocalOnly bool

	// Codec encodes values for the remote tier. With a remote tier, New refuses a V that Codec
	// changes on the way; see codec.Checker and codec.Lossy. A value of 4 KiB or more is stored
	// by codec.Snappy of Codec if that makes it smaller. The Tiers must know a codec with that
	// ID. They know those of codec.Builtin; add your own to TiersConfig.Codecs. If nil, Codec is
	// codec.JSON.
	Codec codec.Codec

	// Schema separates versions of V that codec.Fingerprint cannot tell apart. A cell that was
	// written under another schema is a miss. If empty, only the fingerprint counts.
	Schema string

	// Clone returns a copy of a value that shares nothing mutable with it. Set it when callers
	// or loaders change values after the cache got them or returned them. If nil, values are shared
	// and must not be changed. Programs built with the race detector panic if one was.
	Clone func(V) V

	// Equal reports whether two values mean the same, for the policy's Audit. Set it if a part of
	// the value differs in every load, such as the time of the load. It must not keep or change
	// the values. Several goroutines may call it. If nil, values are equal if Codec encodes them to
	// the same bytes, or if reflect.DeepEqual finds them equal after Codec has decoded them. Without
	// a remote tier, and with LocalOnly, only reflect.DeepEqual decides.
	Equal func(a, b V) bool

	// Size returns the bytes that a value occupies in memory. If nil, the cache estimates them: the
	// value's own size and the length of its encoding before compression, or, if that is more or the
	// value was not encoded, its own size with its strings, slices and maps, one level deep. Set it
	// if there is no remote tier and values have more behind pointers, or in elements of slices.
	Size func(V) int64

	wantsLoad bool // made by For
}

// Cache reads and writes the values of one namespace for one tenant. It is a small value: copy
// it freely. Make one with [New]. Every method of the zero Cache fails. All methods may be
// called concurrently.
type Cache[K comparable, V any] struct {
	s *shared[K, V]
	v *resident.View
}

// shared is what the handles of one cache have in common. It is the store's kind.
type shared[K comparable, V any] struct {
	cfg   Config[K, V]
	store resident.Store
}

// slot returns the key's address in the local tier.
func (c Cache[K, V]) slot(k K) uint64 { return slotOf(c.v, k) }

// slotOf returns the address of a view's key in the local tier: a hash of the typed key, mixed
// with the view's seed. A hit therefore never spells the key.
func slotOf[K comparable](v *resident.View, k K) uint64 {
	return v.Mix(maphash.Comparable(v.Core.Seed, k))
}
