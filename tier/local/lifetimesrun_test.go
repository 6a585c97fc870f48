package local_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/localbench"
	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
)

// access is one access of a trace with lifetimes: a get and, on a miss, a set.
type access struct {
	hash uint64
	ttl  time.Duration
	part bool // of a stream whose hits are not counted
}

// lifetimes are traces with lifetimes.
var lifetimes = []struct {
	name  string
	room  int     // in entries
	floor float64 // hits in percent
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
		all[i] = access{hash: trace.Hash(k), ttl: ttl}
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
		all = append(all, access{hash: trace.Hash(k), ttl: time.Hour}, access{hash: trace.Hash(1<<40 + uint64(i)), ttl: time.Second, part: true})
	}
	return all
}

// openFor opens a tier with room for a number of entries.
func openFor(t testing.TB, capacity int) *local.Tier {
	t.Helper()
	return open(t, int64(capacity)*(localbench.EntryCost+local.Overhead))
}

// lifetimeRatio replays the i-th of lifetimes in virtual time, and returns the hits in percent. The
// tier gets the ends of its entries.
func lifetimeRatio(t *testing.T, i int, open func(t *testing.T, room int) tier.Local) (percent float64) {
	t.Helper()
	run := lifetimes[i]
	synctest.Test(t, func(t *testing.T) {
		l, begun := open(t, run.room), time.Now()
		now := func() int64 { return int64(time.Since(begun)) }
		l.Open(tier.Hooks{Now: now, ExpiresAt: func(e any) int64 { return e.(int64) }})
		hits, counted := 0, 0
		for _, a := range run.all() {
			<-time.After(run.pause)
			e, hit := l.Get(a.hash)
			if hit = hit && now() < e.(int64); !hit {
				l.Set(a.hash, now()+int64(a.ttl), localbench.EntryCost)
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
