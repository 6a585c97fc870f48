package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// world is the model that random operations are checked against. It has a source of versions,
// and for each process and key the oldest version that a read may return.
type world struct {
	t      *testing.T
	r      *rand.Rand
	seed   uint64
	tiers  []*cache.Tiers
	c      []cache.Cache[int, int] // by process
	remote *tiertest.Faulty
	shared bool // there is a remote tier
	logged bool

	mu      sync.Mutex                 // loads read what the test writes
	now     [worldKeys]int             // the source's version
	born    [worldKeys][]time.Time     // when each version was written
	floor   [2][worldKeys][]worldFloor // by process
	seen    [2][worldKeys]int          // by reads that skipped only the local tier
	down    bool                       // the source is down
	healthy bool                       // the remote tier has had no fault
	calm    bool                       // nothing fails, and no value is served stale
	history []string
	asked   time.Time // when the current operation began
}

// worldFloor says that from a time on, a process serves no version below this one.
type worldFloor struct {
	from    time.Time
	version int
}

const (
	worldKeys  = 6
	worldTTL   = 10 * time.Second
	worldStale = 20 * time.Second
	worldError = 2 * time.Minute
	worldMost  = worldTTL + worldStale + worldError
)

func (w *world) load(_ context.Context, k int) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return 0, errSource
	}
	return w.now[k], nil
}

func (w *world) loadMany(ctx context.Context, keys []int) (map[int]int, error) {
	out := map[int]int{}
	for _, k := range keys {
		v, err := w.load(ctx, k)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}

func (w *world) failf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("TWOFOLD_SEED=%d: %s\nlast operations: %v", w.seed, fmt.Sprintf(format, args...), w.history[max(0, len(w.history)-30):])
}

// judge checks one answer. limit is the greatest age that the call's policy allows.
func (w *world) judge(p, k, v int, limit time.Duration) {
	w.t.Helper()
	for _, f := range w.floor[p][k] {
		if v < f.version && !w.asked.Before(f.from) {
			w.failf("process %d, key %d: version %d, but everything below %d was invalidated", p, k, v, f.version)
		}
	}
	if v > w.now[k] {
		w.failf("process %d, key %d: version %d, but the source is at %d", p, k, v, w.now[k])
	}
	if v < w.now[k] { // outdated since the next version was written
		// The age counts at the time of the call: a batch may wait long for its other keys.
		if age := w.asked.Sub(w.born[k][v+1]); age > limit {
			w.failf("process %d, key %d: version %d was outdated for %v, want at most %v", p, k, v, age, limit)
		}
	}
}

// invalidated records what a call of process p promises: for that process whatever it returned, for
// the others of a log after its bound if it returned nil.
func (w *world) invalidated(p int, err error, keys ...int) {
	if _, ok := errors.AsType[*cache.Error](err); err != nil && (!ok || w.healthy) {
		if be, many := errors.AsType[*cache.BatchError[int]](err); !many || len(be.Errs) == 0 || w.healthy {
			w.failf("invalidation: %v", err)
		}
	}
	for q := range w.c {
		from := time.Now()
		if q != p {
			from = from.Add(bound)
		}
		for _, k := range keys {
			if q == p || w.logged && err == nil {
				w.floor[q][k] = append(w.floor[q][k], worldFloor{from, w.now[k]})
			}
		}
	}
}

func (w *world) setDown(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

// harm returns the remote tier, so that the caller can add a fault.
func (w *world) harm() *tiertest.Faulty {
	w.healthy = false
	return w.remote
}

func (w *world) write(keys ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range keys {
		w.now[k]++
		w.born[k] = append(w.born[k], time.Now())
	}
}

// skip is the tiers that a call skips, and how much they were used before it.
type skip struct {
	local, remote bool
	calls         int
	entries       int64
	opts          []cache.Option
}

// skip draws the tiers that a call of process p skips.
func (w *world) skip(p int) skip {
	s := skip{local: w.r.IntN(3) == 0, remote: w.r.IntN(3) == 0, calls: w.remote.Calls(), entries: w.tiers[p].Stats().Local.Entries}
	if s.local {
		s.opts = append(s.opts, cache.SkipLocal())
	}
	if s.remote {
		s.opts = append(s.opts, cache.SkipRemote())
	}
	w.history = append(w.history, fmt.Sprintf("(skips local %v, remote %v)", s.local, s.remote))
	return s
}

// skipped checks that a read of process p did not use the tiers that it skips. If nothing fails, no read that
// uses the remote tier returns an older version than one that skipped only the local tier.
func (w *world) skipped(s skip, p, k int, r cache.Result[int]) {
	w.t.Helper()
	synctest.Wait() // includes work in the background
	switch {
	case s.local && (r.Source == cache.Local || w.tiers[p].Stats().Local.Entries > s.entries):
		w.failf("process %d, key %d: the local tier was used: %+v", p, k, r)
	case s.remote && (r.Source == cache.Remote || w.remote.Calls() > s.calls):
		w.failf("process %d, key %d: the remote tier was used: %+v, %d calls", p, k, r, w.remote.Calls()-s.calls)
	case w.calm && !s.remote && r.Value < w.seen[p][k]:
		w.failf("process %d, key %d: version %d after %d", p, k, r.Value, w.seen[p][k])
	case s.local && !s.remote:
		w.seen[p][k] = r.Value
	}
}

// read makes one read of process p.
func (w *world) read(p, k int, limit time.Duration, opts ...cache.Option) func() {
	return func() {
		s := w.skip(p)
		r, err := w.c[p].Fetch(w.t.Context(), k, nil, append(s.opts, opts...)...)
		if err != nil {
			if !w.down || !errors.Is(err, errSource) {
				w.failf("key %d: %v", k, err)
			}
			return
		}
		if !r.Stale {
			limit = min(limit, worldTTL)
		}
		w.skipped(s, p, k, r)
		w.judge(p, k, r.Value, limit)
	}
}

// operation is one random operation.
type operation struct {
	name   string
	weight int
	do     func()
}

func (w *world) operations(p, k int) []operation {
	ctx, c, next := w.t.Context(), w.c[p], (k+1)%worldKeys
	parity := []int{k % 2, k%2 + 2, k%2 + 4}
	set := draw(w.r, cache.Option{}, cache.SkipRemote(), cache.SkipLocal())
	if !w.shared { // a Set needs a tier
		set = cache.Option{}
	}
	calm := []operation{
		{"fetch", 30, w.read(p, k, worldMost)},
		{"fetch fresh", 5, w.read(p, k, worldTTL, cache.Fresh())},
		{"fetch young", 5, w.read(p, k, 3*time.Second, cache.MaxAge(3*time.Second))},
		{"fetch now", 3, w.read(p, k, 0, cache.MaxAge(0))},
		{"peek", 5, func() {
			if v, ok := c.Peek(ctx, k); ok {
				w.judge(p, k, v, worldMost)
			}
		}},
		{"get many", 8, func() {
			s := w.skip(p)
			m, err := c.GetMany(ctx, []int{k, next, (k + 3) % worldKeys}, s.opts...)
			if err != nil && !errors.Is(err, errSource) {
				w.failf("GetMany: %v", err)
			}
			for k, v := range m {
				w.skipped(s, p, k, cache.Result[int]{Value: v})
				w.judge(p, k, v, worldMost)
			}
		}},
		{"write", 15, func() { w.write(k) }},
		{"write and delete", 6, func() { w.write(k); w.invalidated(p, c.Delete(ctx, k), k) }},
		{"write and set", 6, func() { w.write(k); w.invalidated(p, c.Set(ctx, k, w.now[k], set), k) }},
		{"write and delete many", 2, func() { w.write(k, next); w.invalidated(p, c.DeleteMany(ctx, []int{k, next}), k, next) }},
		{"write and set many", 2, func() {
			w.write(k, next)
			w.invalidated(p, c.SetMany(ctx, map[int]int{k: w.now[k], next: w.now[next]}), k, next)
		}},
		{"write and tag", 3, func() {
			w.write(k)
			w.invalidated(p, w.tiers[p].Invalidate(ctx, c.Tag(fmt.Sprint("parity", k%2))), parity...)
		}},
		{"write and delete all", 2, func() { w.write(k); w.invalidated(p, c.DeleteAll(ctx), 0, 1, 2, 3, 4, 5) }},
		{"expire", 4, func() { w.invalidated(p, c.Expire(ctx, k)) }},
		{"refresh", 4, func() {
			if err := c.Refresh(ctx, k); (err != nil) != w.down {
				w.failf("Refresh: %v", err)
			}
		}},
		{"a moment", 10, func() { advance(time.Duration(w.r.IntN(2000)) * time.Millisecond) }},
		{"a while", 6, func() { advance(time.Duration(w.r.IntN(60)) * time.Second) }},
	}
	if w.calm {
		return calm
	}
	return append(
		calm,
		operation{"source down", 2, func() { w.setDown(true) }},
		operation{"source up", 4, func() { w.setDown(false) }},
		operation{"remote fails", 2, func() { w.harm().Fail(errRemote) }},
		operation{"remote hangs", 1, func() { w.harm().Hang(true) }},
		operation{"remote corrupt", 2, func() { w.harm().Corrupt(flipBit(w.r.IntN(1000))) }},
		operation{"remote loses fills", 2, func() { w.harm().DropFills(true) }},
		operation{"remote heals", 6, func() { w.remote.Heal() }},
	)
}

// newWorld returns a world of some processes on one remote tier, or on none if as is nil.
func newWorld(t *testing.T, seed, run uint64, processes int, log invalidate.Log, as func(*tiertest.Faulty) tier.Remote) *world {
	w := &world{
		t: t, seed: seed, r: rand.New(rand.NewPCG(seed, run)), remote: faulty(),
		healthy: true, calm: run >= 20, shared: as != nil, logged: log != nil,
	}
	for k := range worldKeys {
		w.born[k] = []time.Time{time.Now()}
	}
	cfg := cache.Config[int, int]{
		Load: w.load, Policy: patch{TTL: new(worldTTL), RefreshAhead: new(float64(run % 2))},
		Tags: func(k, _ int) []string { return []string{fmt.Sprint("parity", k%2)} },
	}
	if !w.calm {
		cfg.Policy.Stale, cfg.Policy.StaleIfError = new(worldStale), new(worldError)
	}
	if run%3 == 0 {
		cfg.LoadMany = w.loadMany
	}
	for range processes {
		tc := cache.TiersConfig{Log: log}
		if as != nil {
			tc.Remote = as(w.remote)
		}
		tiers := open(t, tc)
		must(t, tiers.Ready(t.Context()))
		w.tiers, w.c = append(w.tiers, tiers), append(w.c, with(t, tiers, cfg))
	}
	return w
}

// run makes some random operations one after the other.
func (w *world) run(steps int) {
	for range steps {
		p, k := w.r.IntN(len(w.c)), w.r.IntN(worldKeys)
		ops, sum := w.operations(p, k), 0
		for _, op := range ops {
			sum += op.weight
		}
		n := w.r.IntN(sum)
		for _, op := range ops {
			if n -= op.weight; n < 0 {
				w.history = append(w.history, fmt.Sprintf("p%d %s %d", p, op.name, k))
				w.asked = time.Now()
				op.do()
				break
			}
		}
		synctest.Wait()               // refreshes end before the next operation
		advance(5 * time.Millisecond) // frames count whole milliseconds, and ages must differ
	}
	w.remote.Heal()
}

// The test runs random operations, with refreshes in between. No read returns a version from before
// the last invalidation, or one that was outdated for longer than the policy allows. No call reads from
// or stores in a tier that it skips. In the last runs nothing fails.
func TestModel(t *testing.T) {
	seed := seedOf(t)
	for run := range uint64(30) {
		bubble(t, fmt.Sprint("run ", run), func(t *testing.T) {
			var as func(*tiertest.Faulty) tier.Remote
			if run%4 != 0 {
				as = []func(*tiertest.Faulty) tier.Remote{asIs, asLooker}[run/4%2]
			}
			var log invalidate.Log
			if run%5 < 2 {
				log = logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
			}
			newWorld(t, seed, run, 1+int(run%3/2), log, as).run(1000)
		})
	}
}
