package ristretto

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/localnode"

	"github.com/twofold-go/twofold/tier"
)

// Overhead is what each entry is charged in addition to its cost, in bytes: for its node, its
// cell in the table and its two places in ristretto's maps. The package comment has the
// measurement.
const Overhead = 256

const (
	defaultBytes = 64 << 20
	minBytes     = 16 << 10
)

// Config configures a [Tier]. The zero value means a tier of 64 MiB.
type Config struct {
	// MaxBytes bounds the costs of all entries plus [Overhead] for each, in bytes. Zero means
	// 64 MiB. For less than 16 KiB, or a negative number, [Tier.Validate] returns an error.
	//
	// ristretto's queue (256 KiB) and its frequency sketch come on top. The sketch has a counter
	// of about 4 bytes for each 64 bytes of MaxBytes, at least 4,096 and at most 8 Mi counters.
	// It takes about 6 % of MaxBytes, and at most 32 MiB.
	MaxBytes int64
}

// Tier is an in-process tier. It implements [tier.Local]. Make one with [New]: the zero value is not
// usable. All methods except Open may be called concurrently, even with Close.
type Tier struct {
	// Written only by New and Open.
	shards     []shard
	shardShift uint8
	limits     limits
	maxBytes   int64 // as configured
	removed    func(any, int64, tier.EvictReason)
	err        error
	_          [localnode.CacheLine]byte // readers share the lines above; writers dirty those below

	total  atomic.Int64 // charge of all entries; each counts from just before it is visible until it is gone
	front  atomic.Int64 // the part of total that is in the front
	closed atomic.Bool
	queue  queue
	main   handover
	ends   localnode.Ends
}

// New returns an empty tier, and starts ristretto's two goroutines, which [Tier.Close] ends. With
// a wrong configuration, the tier holds nothing and refuses every Set; [Tier.Validate] says why.
func New(c Config) *Tier {
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultBytes
	}
	n := shardsFor(c.MaxBytes)
	t := &Tier{
		shards:     make([]shard, n),
		shardShift: uint8(64 - bits.TrailingZeros(uint(n))),
		limits:     limitsOf(c.MaxBytes),
		maxBytes:   c.MaxBytes,
	}
	for i := range t.shards {
		t.shards[i].table.Reset()
	}
	if t.err = t.start(c); t.err != nil {
		_ = t.Close() // it always succeeds
	}
	return t
}

func (t *Tier) start(c Config) error {
	if c.MaxBytes < minBytes {
		t.main.down = true
		return fmt.Errorf("ristretto: MaxBytes is %d, want 0 or at least %d", c.MaxBytes, minBytes)
	}
	return t.main.start(t.limits)
}

// shardsFor gives every shard about 2 MiB. With fewer entries than that holds, a SIEVE list is
// too short to tell hot entries from cold ones.
func shardsFor(maxBytes int64) int {
	n := 1
	for n < 64 && int64(n)*(2<<20) < maxBytes {
		n *= 2
	}
	return n
}

func (t *Tier) shardOf(hash uint64) *shard {
	return &t.shards[localnode.Mix(hash)>>t.shardShift]
}

var _ tier.Local = (*Tier)(nil)

// Open gives the tier its clock, the ends of its entries and the function that gets each entry that
// leaves. A function that is nil is not used. Call Open before first use.
//
// Removed runs on the goroutine whose call made the entry leave. It runs without a lock, except for
// evictions: these run under the lock that serializes them. A panic reaches that caller and harms
// nothing: the tier's work was complete before, and Removed still gets every other entry that left.
//
// A Set that would move entries out of the front removes some of the ended ones first. While the tier
// holds an entry that has an end, it is also swept every 15 seconds, in a separate goroutine. A panic
// of Removed there ends the program.
func (t *Tier) Open(h tier.Hooks) {
	t.removed = h.Removed
	t.ends.Start(h.Now, h.ExpiresAt, t.sweep)
}

func (t *Tier) tell(n *node, reason tier.EvictReason) {
	if t.removed != nil {
		t.removed(n.Entry(), n.Cost(), reason)
	}
}

// Stats counts the bytes of the entries by the costs given to Set. Used counts [Overhead] for each
// entry, too. It locks each shard in turn, so the sums are exact only when no other call runs.
func (t *Tier) Stats() tier.LocalStats {
	s := tier.LocalStats{MaxBytes: t.maxBytes}
	for i := range t.shards {
		b, n := t.shards[i].usage()
		s.Bytes, s.Entries = s.Bytes+b, s.Entries+n
	}
	s.Used = s.Bytes + s.Entries*Overhead
	return s
}

// Range calls f with each entry until f returns false. It takes no lock. It shows every entry
// that stays in the tier, and may miss one that enters meanwhile.
func (t *Tier) Range(f func(e any) bool) {
	for i := range t.shards {
		for n := range t.shards[i].table.All() {
			if !f(n.Entry()) {
				return
			}
		}
	}
}

// Validate returns the fault of the configuration, or nil.
func (t *Tier) Validate() error { return t.err }

// Close removes every entry, reports it as Closed, and ends ristretto's goroutines before it returns.
// After Close, Get misses and Set is refused. Close may be repeated and returns nil.
func (t *Tier) Close() error {
	if !t.closed.CompareAndSwap(false, true) {
		return nil
	}
	t.ends.Close()
	var left []departure
	for i := range t.shards {
		left = t.shards[i].close(left)
	}
	t.main.stop()
	t.queue.swap(new(batch))
	t.tellLeft(left)
	return nil
}
