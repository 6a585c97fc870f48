package cache

import (
	"iter"
	"time"
)

// Entry is one entry of the local tier: a value or a remembered absence or error.
// [TiersConfig].OnStored and OnRemoved get the same Entry, so == tells two entries of one key
// apart. All methods may be called concurrently, even after the entry has left the tier. An
// Entry keeps its value in memory.
type Entry interface {
	// Key returns the full key, "tenant:namespace:id". Each call spells it again.
	Key() string

	// Tags yields the hash and the text of each tag. The text is "tenant:tag". It is empty for a
	// tag of a value from the remote tier, which keeps only the hash, and for invalidate.AnyTag.
	// The keys of the values that it was built from are not among the tags.
	Tags() iter.Seq2[uint64, string]

	// Alive reports whether the entry may still be served, perhaps as a stale value. That means:
	// no invalidation covers it, its time is not over, and the Tiers are open.
	Alive() bool

	// Age returns the time since the load of the value began, in any process. The clock of
	// another process may be ahead; the age is never negative.
	Age() time.Duration

	// Stale reports whether the entry's freshness is over, by time or by Expire. An entry that
	// is not alive is also stale.
	Stale() bool
}
