// Package policy says how long a cache keeps its values, and what it does when it cannot load.
//
// A [Policy] holds all settings of one cache. A [Patch] changes some of its fields. A [Table]
// holds patches for tenants and namespaces; it can be read from JSON.
//
// A value passes through three spans. For TTL it is fresh. For Stale after that it is served
// while a refresh runs behind the caller. For StaleIfError after that it is served only in
// place of a failed load:
//
//	load        TTL            Stale           StaleIfError
//	|───────────────────|────────────────|───────────────────|
//	 fresh: served       stale: served,   served if a load    not served
//	                     one refresh      fails
//
// The documentation of each field says what zero means and what [Default] sets. It also names the
// nearest setting in HTTP and in FusionCache, the .NET library, if there is one.
//
// Everything here is a plain value or a pure function. No function reads a clock. Several
// goroutines may use a value concurrently if none changes it. The package imports only the
// standard library.
package policy

import "time"

// Forever is a duration that never ends. As a TTL it means that a value leaves only by an
// invalidation, or because the tier needs the room. A remote tier keeps no value for longer than
// 30 days. After that, a process that does not hold the value loads it again. Jitter does not
// change Forever. In JSON it is "forever".
const Forever time.Duration = 1<<63 - 1

// Resolution is the unit in which the remote tier keeps times. [Policy.Validate] refuses a
// time to live that would round to zero units.
const Resolution = time.Millisecond

// Policy says how one cache keeps its values. Start from [Default] and change what should
// differ. The zero Policy is not valid: it has no TTL and no timeouts.
//
// No field may be negative. A cache copies its Policy, so later changes have no effect.
type Policy struct {
	// TTL is how long a value is fresh. Forever means without end. Zero is refused. The default is
	// 1 minute. HTTP calls it max-age, FusionCache Duration.
	TTL time.Duration

	// Jitter spreads TTL, NegativeTTL and ErrorTTL, because keys that were loaded together should
	// not expire together. TTL becomes a value between TTL·(1-Jitter) and TTL·(1+Jitter). The value
	// depends only on the key, so all processes use the same. Jitter is at least 0 and below 1. If
	// zero, there is no spread. The default is 0.15. FusionCache has JitterMaxDuration, which is a
	// duration and only adds.
	Jitter float64

	// NegativeTTL is how long the cache remembers that the loader found nothing.
	// If zero, it does not remember. The default is 3 seconds. DNS calls this negative caching (RFC
	// 2308).
	NegativeTTL time.Duration

	// ErrorTTL is how long the cache remembers that a load failed, if there is no old value to
	// serve in its place. Reads in all processes then get the error without a load; a process
	// that holds an old value serves that. If zero, it does not remember, and every read loads.
	//
	// The cache remembers the errors of the loader, including timeouts that the loader sets
	// itself. Some errors are not remembered as failures of the source: LoadTimeout, a cancelled
	// load, and an error of this library (overloaded, closed, recursive) that the loader returns.
	// The default is zero. DNS calls this negative caching of resolution failures (RFC 9520).
	ErrorTTL time.Duration

	// Stale is how long after TTL an old value is served while one refresh runs.
	// If zero, the default, it is not served. HTTP calls this stale-while-revalidate (RFC 5861).
	Stale time.Duration

	// StaleIfError is how long after TTL+Stale an old value is served in place of a failed
	// load. If zero, the default, it is not served. HTTP calls this stale-if-error (RFC 5861).
	// FusionCache has FailSafeMaxDuration, which counts from the load.
	StaleIfError time.Duration

	// Throttle limits the loads from a failed source while an old value can be served. Each
	// process loads a key at most once in this time, and serves the old value otherwise. Throttle
	// applies within Stale and StaleIfError, and to a fresh value after LocalTTL. If the process
	// has no old value, ErrorTTL serves this purpose. Calls that refuse an old value
	// (Fresh(), MaxAge, Refresh) always load. If zero, every read loads. The default is 1 second.
	// FusionCache calls it FailSafeThrottleDuration.
	Throttle time.Duration

	// RefreshAhead starts refreshes before TTL ends, so callers of a busy key do not see a stale
	// value. It is the factor β of XFetch: each hit decides at random whether to refresh. The
	// chance grows with the time that a load takes, and as the end of TTL comes closer. 1 is the
	// optimum of the paper (Vattani, Chierichetti, Lowenstein, PVLDB 8(8), 2015); a larger factor
	// starts earlier. If zero, the default, there is no early refresh. It must be finite.
	// FusionCache has EagerRefreshThreshold, which is a fraction of the duration.
	RefreshAhead float64

	// MaxRefreshes limits the background refreshes of the namespace that run at a time in one
	// process, for all tenants together. The keys that one LoadMany refreshes count as one.
	// Above the limit a read serves the stale value without a refresh, and RefreshCounts.Skipped
	// counts it. In an override for a tenant it limits how many refreshes of the namespace may
	// run when a refresh of that tenant starts. MaxRefreshes of cache.TiersConfig, the limit for
	// all namespaces, applies too. If zero, the default, only that limit applies.
	MaxRefreshes int

	// SoftTimeout is how long a call waits for a load before it takes an old value instead. The
	// load continues. If zero, the default, the call waits until LoadTimeout. SoftTimeout must not
	// be above LoadTimeout, and it needs Stale or StaleIfError, because without them there is no
	// old value. A value whose loader set a Stale of zero is not taken.
	// FusionCache calls it FactorySoftTimeout.
	SoftTimeout time.Duration

	// LoadTimeout ends a load that takes too long. Zero is refused, because a loader that hangs
	// would never end. It is also the longest wait for the load of another process whose claim does
	// not expire. The default is 30 seconds. FusionCache calls it FactoryHardTimeout.
	LoadTimeout time.Duration

	// Detached lets a load go on until LoadTimeout when its last caller has left. It counts among MaxLoads, and its
	// value is stored. If an invalidation has overtaken it, it is repeated, at most twice, unless there is a ReplicaLag. Callers that come later join it. A first
	// load that waits for its turn ends with its last caller all the same. It is for a
	// source that takes longer than its callers wait: otherwise each of them begins a load that is
	// cancelled, and nothing is ever stored. It costs the source loads that nobody waits for. Close ends such
	// loads. If false, the default, the load's context is cancelled when the last caller leaves. What a loader that ignores
	// its context returns is stored in both cases. FusionCache has AllowTimedOutFactoryBackgroundCompletion.
	Detached bool

	// LocalTTL is how long a process trusts its own copy before it asks the remote tier
	// again. It matters where no log carries invalidations. If zero, the default, a process trusts
	// its copy as long as the value is fresh. In HTTP it is max-age with a longer s-maxage, in
	// FusionCache Duration with a longer DistributedCacheDuration.
	LocalTTL time.Duration

	// ReplicaLag is how long after a write the source may still show what was there before, because
	// loaders read from replicas. A load that began less than ReplicaLag after an invalidation that
	// covers its value was applied in this process is returned to its callers as stale, and
	// stored in no tier. The same holds for what is built from such a value. Until then each read loads.
	// A process treats its start, a gap in the log and a new epoch as an invalidation of everything. An
	// Expire and a Set count as well; the value of the Set itself is stored. If zero, the default, a load that
	// began after the invalidation is stored. It is no promise about a replica that lags longer.
	ReplicaLag time.Duration

	// MinLoad keeps values out of the cache that were quick to load: if a load took less time,
	// its value is returned and not stored. The same holds for an absence, so each read of it asks
	// the source. If zero, the default, every load is stored.
	MinLoad time.Duration

	// MaxValueBytes is the longest encoded value that is stored, in bytes before compression. A
	// longer one is returned to its callers and counted. A longer value in the remote
	// tier is a miss. Where a value is not encoded, its size in memory counts: without a remote
	// tier, with LocalOnly, and for a load that has no claim because the remote tier is out of
	// reach. Zero is refused. The default is 1 MiB.
	MaxValueBytes int

	// RemoteTimeout is the deadline of each call to the remote tier. A call that takes
	// longer counts as a miss. GetMany and SetMany make one for each thousand keys. Zero is
	// refused. The default is 50 milliseconds. FusionCache calls it DistributedCacheHardTimeout.
	RemoteTimeout time.Duration

	// Audit is the share of hits that are compared with the source, from 0 to 1. A moment later the
	// cache asks the loader behind the caller whether the value is still right. A value that
	// differs, and that no invalidation covers, is counted, reported and deleted.
	// MaxAudits of cache.TiersConfig bounds the audits of a process for any share. A share above
	// 1/1024 costs the hits of the namespace some time. If zero, the default, no hit is compared.
	Audit float64

	// Off turns the cache off: every read loads; nothing is looked up or stored.
	// The default is false. HTTP calls it no-store.
	Off bool
}

// Default returns the default policy. The documentation of each field says what zero means.
func Default() Policy {
	return Policy{
		TTL:           time.Minute,
		Jitter:        0.15,
		NegativeTTL:   3 * time.Second,
		Throttle:      time.Second,
		LoadTimeout:   30 * time.Second,
		MaxValueBytes: 1 << 20,
		RemoteTimeout: 50 * time.Millisecond,
	}
}
