package otter

import (
	"fmt"
	"sync"
	"sync/atomic"

	engine "github.com/maypok86/otter/v2"

	"github.com/twofold-go/twofold/tier"
)

// Overhead is what every entry is charged beside its own cost, in bytes: its
// node, its place in otter's table and its share of the frequency sketch. See
// the package comment for the measurement.
const Overhead = 128

const (
	defaultBytes = 64 << 20
	minBytes     = 16 << 10
	cacheLine    = 64
)

var _ interface {
	tier.Local
	tier.EvictNotifier
	tier.Meter
	tier.Ranger
	tier.Validator
} = (*Tier)(nil)

// Config configures a [Tier]. The zero value asks for a tier of 64 MiB.
type Config struct {
	// MaxBytes bounds the costs of all entries plus [Overhead] for each, in
	// bytes. Zero means 64 MiB; less than 16 KiB, or a negative number, is an
	// error that [Tier.Validate] returns.
	MaxBytes int64
}

// Tier is an in-process tier. It implements [tier.Local], [tier.EvictNotifier],
// [tier.Meter], [tier.Ranger] and [tier.Validator]. Make one with [New]: the zero value holds
// nothing and refuses every Set. All methods but OnEvict may be called
// concurrently, also with Close.
type Tier struct {
	// Written by New, OnEvict and Close only.
	cache  atomic.Pointer[cache] // nil: closed, or never opened
	limits limits
	report func(tier.Entry, int64, tier.EvictReason)
	err    error
	_      [cacheLine]byte // readers share the lines above; writers dirty those below

	total atomic.Int64 // charge of all entries, each from just before it is visible until it leaves
	due   atomic.Bool  // otter asked for maintenance
	mu    sync.Mutex   // held through maintenance, so that it runs once at a time
}

type cache = engine.Cache[uint64, held]

// held is an entry as otter keeps it: inside its node until the entry is
// replaced, so that a hit finds it there.
type held struct {
	entry tier.Entry
	cost  int64 // as given to Set, but not negative
}

func (h held) charge() int64 { return h.cost + Overhead }

// New returns an empty tier. It starts no goroutine. A configuration that is
// wrong shows in [Tier.Validate]; the tier then holds nothing and refuses every
// Set.
func New(c Config) *Tier {
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultBytes
	}
	t := &Tier{}
	t.err = t.open(c)
	return t
}

// open makes the engine. It reports evictions by OnAtomicDeletion, which is
// called once for each and at once; OnDeletion would go through the executor,
// which is the tier's own way to learn that there is something to maintain.
func (t *Tier) open(c Config) error {
	if c.MaxBytes < minBytes {
		return fmt.Errorf("otter: MaxBytes is %d, want 0 or at least %d", c.MaxBytes, minBytes)
	}
	t.limits = limitsOf(c.MaxBytes)
	e, err := engine.New(&engine.Options[uint64, held]{
		MaximumWeight:    t.limits.weight,
		Weigher:          func(_ uint64, h held) uint32 { return weigh(h.charge()) },
		OnAtomicDeletion: t.evicted,
		Executor:         func(func()) { t.due.Store(true) },
	})
	if err != nil {
		return fmt.Errorf("otter: %w", err)
	}
	t.cache.Store(e)
	return nil
}

// OnEvict makes the tier report each entry that leaves it to f, with the cost
// it was given. It must be called before first use, and at most once. f runs
// on the goroutine whose call made the entry leave: without a lock when the
// entry was replaced, deleted or rejected, but under otter's locks when it was
// evicted, so it must be quick; it must not call the tier. A panic of f harms
// nothing in the tier. At an eviction otter logs it to slog's default logger, and
// it goes no further. Otherwise it reaches the caller.
func (t *Tier) OnEvict(f func(e tier.Entry, cost int64, reason tier.EvictReason)) {
	t.report = f
}

func (t *Tier) tell(h held, reason tier.EvictReason) {
	if t.report != nil {
		t.report(h.entry, h.cost, reason)
	}
}

// evicted is called by otter for every entry that leaves it. Whoever replaces
// or removes one gets it back from that very call, and reports it himself.
func (t *Tier) evicted(e engine.DeletionEvent[uint64, held]) {
	if e.WasEvicted() {
		t.total.Add(-e.Value.charge())
		t.tell(e.Value, tier.Evicted)
	}
}

// Usage returns the bytes, by the costs given to Set and without [Overhead],
// and the number of the entries that Get finds. It locks nothing, and is exact
// when nothing else runs.
func (t *Tier) Usage() (bytes, entries int64) {
	c := t.cache.Load()
	if c == nil {
		return 0, 0
	}
	entries = int64(c.EstimatedSize())
	return max(t.total.Load()-entries*Overhead, 0), entries
}

// Range calls f with each entry until f returns false. An entry that comes while
// it runs may be missed; one that stays is shown.
func (t *Tier) Range(f func(e tier.Entry) bool) {
	c := t.cache.Load()
	if c == nil {
		return
	}
	for h := range c.Values() {
		if !f(h.entry) {
			return
		}
	}
}

// Validate returns what is wrong with the configuration, or nil.
func (t *Tier) Validate() error { return t.err }

// Close forgets every entry and reports none of them. Get misses from then on
// and Set is refused; a call that runs meanwhile ends on the engine that was
// let go, and may still report what it evicts there. Close may be repeated and
// returns nil.
func (t *Tier) Close() error {
	if c := t.cache.Swap(nil); c != nil {
		c.StopAllGoroutines() // there are none without expiry, as otter is today
	}
	return nil
}
