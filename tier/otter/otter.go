package otter

import (
	"fmt"
	"sync"
	"sync/atomic"

	engine "github.com/maypok86/otter/v2"

	"github.com/twofold-go/twofold/tier"
)

// Overhead is what each entry is charged in addition to its cost, in bytes: for its node, its
// place in otter's table and its share of the frequency sketch. The package comment has the
// measurement.
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

// Config configures a [Tier]. The zero value means a tier of 64 MiB.
type Config struct {
	// MaxBytes bounds the costs of all entries plus [Overhead] for each, in bytes. Zero means
	// 64 MiB. For less than 16 KiB, or a negative number, [Tier.Validate] returns an error.
	MaxBytes int64
}

// Tier is an in-process tier. It implements [tier.Local], [tier.EvictNotifier], [tier.Meter],
// [tier.Ranger] and [tier.Validator]. Make one with [New]: the zero value holds nothing and refuses
// every Set. All methods except OnEvict may be called concurrently, also with Close.
type Tier struct {
	// Written by New, OnEvict and Close only.
	cache  atomic.Pointer[cache] // nil: closed, or never opened
	limits limits
	report func(tier.Entry, int64, tier.EvictReason)
	err    error
	_      [cacheLine]byte // readers share the lines above; writers dirty those below

	total atomic.Int64 // charge of all entries; each counts from just before it is visible until it leaves
	due   atomic.Bool  // otter has requested maintenance
	mu    sync.Mutex   // held through maintenance, so that it runs once at a time
}

type cache = engine.Cache[uint64, held]

// held is an entry in otter's node, where a hit finds it.
type held struct {
	entry tier.Entry
	cost  int64 // as given to Set, but not negative
}

func (h held) charge() int64 { return h.cost + Overhead }

// New returns an empty tier. It starts no goroutine. With a wrong configuration, the tier holds
// nothing and refuses every Set; [Tier.Validate] says why.
func New(c Config) *Tier {
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultBytes
	}
	t := &Tier{}
	t.err = t.open(c)
	return t
}

// open makes the engine. It reports evictions through OnAtomicDeletion, which otter calls at
// once, and once for each entry. OnDeletion would run through the executor, which only notes that
// maintenance is due.
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

// OnEvict makes the tier report each entry that leaves it to f, with its cost. Call it before
// first use, and at most once. f runs on the goroutine whose call made the entry leave, and must
// not call the tier. It runs without a lock for an entry that was replaced, deleted or rejected.
// For an eviction it runs under otter's locks, so it must be quick. A panic of f harms nothing in
// the tier. At an eviction, otter logs the panic to slog's default logger and recovers it.
// Otherwise the panic reaches the caller.
func (t *Tier) OnEvict(f func(e tier.Entry, cost int64, reason tier.EvictReason)) {
	t.report = f
}

func (t *Tier) tell(h held, reason tier.EvictReason) {
	if t.report != nil {
		t.report(h.entry, h.cost, reason)
	}
}

// evicted is called by otter for every entry that leaves it. It ignores entries that were
// replaced or removed: the call that did so gets the old entry from otter and reports it.
func (t *Tier) evicted(e engine.DeletionEvent[uint64, held]) {
	if e.WasEvicted() {
		t.total.Add(-e.Value.charge())
		t.tell(e.Value, tier.Evicted)
	}
}

// Usage returns the number of entries that Get finds, and their bytes by the costs given to Set,
// without [Overhead]. It locks nothing, and is exact only when no other call runs.
func (t *Tier) Usage() (bytes, entries int64) {
	c := t.cache.Load()
	if c == nil {
		return 0, 0
	}
	entries = int64(c.EstimatedSize())
	return max(t.total.Load()-entries*Overhead, 0), entries
}

// Range calls f with each entry until f returns false. It shows every entry that stays in the
// tier, and may miss one that enters meanwhile.
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

// Validate returns the fault of the configuration, or nil.
func (t *Tier) Validate() error { return t.err }

// Close removes every entry and reports none of them. After Close, Get misses and Set is refused.
// A call that runs meanwhile ends on the old engine, and may still report what it evicts there.
// Close may be repeated and returns nil.
func (t *Tier) Close() error {
	if c := t.cache.Swap(nil); c != nil {
		c.StopAllGoroutines() // without expiry otter starts none today
	}
	return nil
}
