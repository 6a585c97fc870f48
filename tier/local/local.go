package local

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/tier"
)

// Overhead is what each entry is charged in addition to its cost, in bytes: for its node, its
// cell in the table and its part of the sketch. The package comment has the measurement.
const Overhead = 128

const (
	defaultBytes = 64 << 20
	minBytes     = 16 << 10
	shardBytes   = 16 << 20 // smaller shards hold too few large entries to compare them
	maxShards    = 64
	maxSampling  = 16
)

var _ tier.Local = (*Tier)(nil)

// Config configures a [Tier]. The zero value means a tier of 64 MiB.
type Config struct {
	// MaxBytes bounds the costs of all entries plus [Overhead] for each, in bytes. Zero means
	// 64 MiB. For less than 16 KiB, or a negative number, [Tier.Validate] returns an error.
	MaxBytes int64
}

// Tier is an in-process tier. It implements [tier.Local]. Make one with [New]: the zero value is not
// usable. All methods except Open may be called concurrently, also with Close.
type Tier struct {
	// Written by New and Open only.
	shards     []shard
	shardShift uint8
	sampled    uint64 // a mask: hashes with none of its bits are samples
	max        int64
	largest    int64 // charge of one entry
	removed    func(any, int64, tier.EvictReason)
	err        error
	_          [localnode.CacheLine]byte // readers share the lines above; writers dirty those below

	period atomic.Uint32 // of the climb; read by hits of samples
	_      [localnode.CacheLine]byte

	total  atomic.Int64 // charge of all entries
	window atomic.Int64 // the part of total that is in windows
	limit  atomic.Int64 // of window; the climb sets it
	closed atomic.Bool
	large  sync.Mutex // of setLarge
	climb  climb
	ends   localnode.Ends
}

// New returns an empty tier. It starts no goroutine; see [Tier.Open]. With a wrong configuration, the
// tier holds nothing and refuses every Set; [Tier.Validate] says why.
func New(c Config) *Tier {
	t := &Tier{max: c.MaxBytes}
	if t.max == 0 {
		t.max = defaultBytes
	}
	n := 1
	for n < maxShards && t.max/int64(n) > shardBytes {
		n *= 2
	}
	t.shards = make([]shard, n)
	t.shardShift = uint8(64 - bits.TrailingZeros(uint(n)))
	t.sampled = uint64(min(n, maxSampling)-1) << sampleShift
	t.largest = t.max / 5
	for i := range t.shards {
		t.shards[i].start(t)
	}
	t.climb.start()
	t.limit.Store(t.climb.limit(t.max))
	if t.max < minBytes {
		t.err = fmt.Errorf("local: MaxBytes is %d, want 0 or at least %d", c.MaxBytes, minBytes)
		_ = t.Close() // it always succeeds
	}
	return t
}

// start initializes the shard.
func (s *shard) start(t *Tier) {
	s.tier, s.luck = t, rand.Uint64()
	s.table.Reset()
	s.sketch.grow(1)
}

// shardOf returns the shard of a mixed hash.
func (t *Tier) shardOf(mixed uint64) *shard { return &t.shards[mixed>>t.shardShift] }

// sampleShift selects bits of a mixed hash that depend on nearly all bits of the hash.
const sampleShift = 40

// isFull reports whether the tier is full, or nearly full. Before that, every entry finds room.
func (t *Tier) isFull() bool { return t.total.Load() > t.max/10*9 }

// isSample reports whether the climb counts accesses of a mixed hash.
func (t *Tier) isSample(mixed uint64) bool { return mixed&t.sampled == 0 }

// Open gives the tier its clock, the ends of its entries and the function that gets each entry that
// leaves. A function that is nil is not used. Call Open before first use.
//
// Removed runs without a lock, on the goroutine whose call made the entry leave. A panic reaches that
// caller and harms nothing: the tier's work was complete before, and Removed still gets every other
// entry that left.
//
// A Set that finds no room removes entries that have ended first. While the tier holds an entry that
// has an end, it is also swept every 15 seconds, on a goroutine of its own. A panic of Removed there
// ends the program.
func (t *Tier) Open(h tier.Hooks) {
	t.removed = h.Removed
	t.ends.Start(h.Now, h.ExpiresAt, t.sweep)
}

// sweep removes all entries that are known to have ended. It asks a quarter of the entries for
// their ends.
func (t *Tier) sweep() (more bool) {
	now := t.ends.Now()
	for i := range t.shards {
		s := &t.shards[i]
		var out departures
		some := s.table.SweepAll(&s.mu, now, func(n *node) (localnode.Tick, bool) {
			var freed int64
			end := s.expire(n, now, &out, &freed)
			t.total.Add(-freed)
			return end, true
		}, func() { t.tell(&out) })
		more = more || some
	}
	return more
}

// Stats counts the bytes of the entries by the costs given to Set. Used counts [Overhead] for each
// entry, too. It locks each shard in turn, so the sums are exact only when no other call runs.
func (t *Tier) Stats() tier.LocalStats {
	s := tier.LocalStats{Used: t.total.Load(), MaxBytes: t.max}
	for i := range t.shards {
		b, n := t.shards[i].usage()
		s.Bytes, s.Entries = s.Bytes+b, s.Entries+n
	}
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

// Close removes every entry and reports it as Closed. After Close, Get misses and Set is refused.
// Close may be repeated and returns nil.
func (t *Tier) Close() error {
	t.closed.Store(true)
	t.ends.Close()
	var out departures
	for i := range t.shards {
		t.shards[i].close(&out)
	}
	t.tell(&out)
	return nil
}
