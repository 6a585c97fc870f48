package localbench

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier"
)

// Timed is a cache whose entries end.
type Timed interface {
	// Get reports whether the key has an entry that has not ended.
	Get(key uint64) bool
	Set(key uint64, ttl time.Duration)
	Close()
}

// access is one access of a trace with lifetimes: a get and, on a miss, a set.
type access struct {
	key  uint64
	ttl  time.Duration
	part bool // of a stream whose hits are not counted
}

// Lifetimes are traces with lifetimes.
var Lifetimes = []struct {
	Name  string
	Room  int     // in entries
	Floor float64 // hits in percent
	all   func() []access
	pause time.Duration // between accesses
}{
	{"drifting zipf, 10 s", 5000, 50, func() []access { return lasting(trace.MovingHotSet(1, 50_000, 10, 300_000), 10*time.Second) }, time.Second / 500},
	{"drifting zipf, 1 min", 5000, 57, func() []access { return lasting(trace.MovingHotSet(1, 50_000, 10, 300_000), time.Minute) }, time.Second / 500},
	{"uniform, 10 s", 1000, 24, func() []access { return lasting(uniform(4000, 200_000), 10*time.Second) }, time.Second / 1000},
	{"long-lived beside a stream", 6000, 94, beside, time.Second / 2000},
}

func lasting(keys []uint64, ttl time.Duration) []access {
	all := make([]access, len(keys))
	for i, k := range keys {
		all[i] = access{key: k, ttl: ttl}
	}
	return all
}

func uniform(universe uint64, n int) []uint64 {
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = trace.Hash(uint64(i)) % universe
	}
	return keys
}

// beside reads 5,000 keys that last an hour, and as often a new key that lasts a second.
func beside() (all []access) {
	for i, k := range uniform(5000, 100_000) {
		all = append(all, access{key: k, ttl: time.Hour}, access{key: 1<<40 + uint64(i), ttl: time.Second, part: true})
	}
	return all
}

// LifetimeRatio replays the i-th of [Lifetimes] in virtual time, and returns the hits in percent.
func LifetimeRatio(t *testing.T, i int, open func(t *testing.T, room int) Timed) (percent float64) {
	t.Helper()
	l := Lifetimes[i]
	synctest.Test(t, func(t *testing.T) {
		c := open(t, l.Room)
		defer c.Close()
		hits, counted := 0, 0
		for _, a := range l.all() {
			time.Sleep(l.pause)
			hit := c.Get(a.key)
			if !hit {
				c.Set(a.key, a.ttl)
			}
			if a.part {
				continue
			}
			if counted++; hit {
				hits++
			}
		}
		percent = 100 * float64(hits) / float64(counted)
	})
	return percent
}

// TimedTier is a [Timed] with entries of [EntryCost] in a local tier.
type TimedTier struct {
	l     tier.Local
	begun time.Time
}

// NewTimedTier gives l the ends of its entries, if it wants them.
func NewTimedTier(l tier.Local) TimedTier {
	c := TimedTier{l, time.Now()}
	if x, ok := l.(tier.Expirer); ok {
		x.ExpireBy(c.now, func(e tier.Entry) int64 { return e.(int64) })
	}
	return c
}

func (c TimedTier) now() int64 { return int64(time.Since(c.begun)) }

// Get implements Timed.
func (c TimedTier) Get(key uint64) bool {
	e, ok := c.l.Get(trace.Hash(key))
	return ok && c.now() < e.(int64)
}

// Set implements Timed.
func (c TimedTier) Set(key uint64, ttl time.Duration) {
	c.l.Set(trace.Hash(key), c.now()+int64(ttl), EntryCost)
}

// Close implements Timed.
func (c TimedTier) Close() { _ = c.l.Close() }
