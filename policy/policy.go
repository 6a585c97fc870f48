// Package policy says how long a cache may keep what it loaded, and what it
// may do when it could not load: a [Policy], and a [Table] of overrides by tenant
// and namespace.
//
// Everything here is a plain value and a pure function. Nothing reads a clock
// or a source of randomness: seeds and draws are arguments. All functions and
// methods may be called concurrently as long as nobody changes the value
// meanwhile. The package imports the standard library only.
package policy

import "time"

// Forever is a duration that never ends. As a TTL it means that only an
// invalidation or the byte budget removes the value. Jitter leaves it Forever.
const Forever time.Duration = 1<<63 - 1

// Resolution is what one tick of a cell's expiry is worth. A time to live
// below it would reach the remote tier as nothing at all, so
// [Policy.Validate] refuses it.
const Resolution = time.Millisecond

// Policy says how one cache keeps its values. Its zero value is not valid (a
// TTL of 0 keeps nothing, which [Policy.Off] says more plainly): start from
// [Default] and change what should differ.
type Policy struct {
	// TTL is how long a value is fresh. [Forever] for no end; 0 is a fault.
	TTL time.Duration

	// NegativeTTL is how long it is remembered that the loader found nothing.
	// 0: not at all.
	NegativeTTL time.Duration

	// NegativeErrors is how long a failed load is remembered, so that a broken
	// source is not asked by every read. 0: as Admit.OnlyOK says.
	NegativeErrors time.Duration

	// Jitter widens TTL and NegativeTTL into TTL·(1±Jitter), drawn once per
	// key, so that keys filled together do not expire together. In [0, 1).
	Jitter float64

	// Stale is for how long after TTL the old value is served while one
	// refresh runs. 0: not at all.
	Stale time.Duration

	// StaleIfError is for how long after TTL+Stale the old value is served
	// when a load fails, and only then. 0: not at all.
	StaleIfError time.Duration

	// RefreshAhead is the β of early refresh: 0 never refreshes before TTL, 1
	// is the paper's optimum, more starts earlier.
	RefreshAhead float64

	// SoftTimeout is how long a read waits for a load before it takes the
	// stale value instead; the load goes on. 0: until LoadTimeout. It needs
	// Stale or StaleIfError, or there would be nothing to take.
	SoftTimeout time.Duration

	// LoadTimeout is a load's hard limit. 0 is a fault: a loader that hangs
	// would hold its slot for good.
	LoadTimeout time.Duration

	// LocalTTL caps how long this process trusts its own copy before it asks
	// the remote tier again. 0: as TTL.
	LocalTTL time.Duration

	// Admit says which loads are worth storing.
	Admit Admit

	// MaxValueBytes is the longest encoded value that is stored, measured before
	// compression. A longer one is returned to its caller and counted, and so is
	// one whose elements take more than codec.Expansion times that in memory. A
	// frame of the remote tier that holds more is a miss. 0 is a fault.
	MaxValueBytes int

	// RemoteTimeout is the deadline of each call to the remote tier; after it
	// the call counts as a miss. 0 is a fault.
	RemoteTimeout time.Duration

	// Off is the kill switch: every read loads, nothing is stored or looked
	// up.
	Off bool
}

// Admit says which loads are worth storing. Its zero value stores whatever a
// load returned, and remembers failures for NegativeTTL.
type Admit struct {
	// MinLoad keeps out what was quick to load: storing it would cost more
	// than loading it again. 0 admits every load.
	MinLoad time.Duration

	// OnlyOK decides about failed loads when NegativeErrors is 0. True: they
	// are not remembered. False: they are remembered for NegativeTTL, like an
	// absence. With NegativeErrors above 0 they are remembered for that long
	// either way. See [Policy.ErrorTTL].
	OnlyOK bool
}

// Default returns the policy of a cache that was told nothing: one minute
// fresh, absence remembered for three seconds, ±15 % jitter, nothing stale,
// loads of up to 30 s, values of up to 1 MiB.
func Default() Policy {
	return Policy{
		TTL:           60 * time.Second,
		NegativeTTL:   3 * time.Second,
		Jitter:        0.15,
		LoadTimeout:   30 * time.Second,
		Admit:         Admit{OnlyOK: true},
		MaxValueBytes: 1 << 20,
		RemoteTimeout: 50 * time.Millisecond,
	}
}

// ErrorTTL returns how long a failed load is remembered, by the rule on
// [Admit.OnlyOK]. 0: not at all.
func (p Policy) ErrorTTL() time.Duration {
	if p.NegativeErrors == 0 && !p.Admit.OnlyOK {
		return p.NegativeTTL
	}
	return p.NegativeErrors
}
