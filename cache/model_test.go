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
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// world is the model that random operations are checked against. It has a source of versions,
// and for each key the oldest version that a read may return.
type world struct {
	t      *testing.T
	r      *rand.Rand
	seed   uint64
	step   int
	tiers  *cache.Tiers
	c      cache.Cache[int, int]
	remote *tiertest.Faulty

	mu      sync.Mutex             // loads read what the test writes
	now     [worldKeys]int         // the source's version
	born    [worldKeys][]time.Time // when each version was written
	floor   [worldKeys]int         // versions below are invalidated
	down    bool                   // the source is down
	healthy bool                   // the remote tier has had no fault
	history []string
	asked   time.Time // when the current operation began
}

const (
	worldKeys  = 6
	worldTTL   = 10 * time.Second
	worldStale = 20 * time.Second
	worldError = 2 * time.Minute
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

func (w *world) tags(k, _ int) []string { return []string{fmt.Sprint("parity", k%2)} }

func (w *world) failf(format string, args ...any) {
	w.t.Helper()
	last := w.history[max(0, len(w.history)-30):]
	w.t.Fatalf("step %d (TWOFOLD_SEED=%d): %s\nlast operations: %v", w.step, w.seed, fmt.Sprintf(format, args...), last)
}

// judge checks one answer. limit is the greatest age that the call's policy allows.
func (w *world) judge(k, v int, limit time.Duration) {
	w.t.Helper()
	if v < w.floor[k] {
		w.failf("key %d: version %d, but everything below %d was invalidated", k, v, w.floor[k])
	}
	if v > w.now[k] {
		w.failf("key %d: version %d, but the source is at %d", k, v, w.now[k])
	}
	if v < w.now[k] { // outdated since the next version was written
		// The age counts at the time of the call: a batch may wait long for its other keys.
		if age := w.asked.Sub(w.born[k][v+1]); age > limit {
			w.failf("key %d: version %d was outdated for %v, want at most %v", k, v, age, limit)
		}
	}
}

func (w *world) invalidated(err error, keys ...int) {
	for _, k := range keys {
		w.floor[k] = w.now[k]
	}
	if _, ok := errors.AsType[*cache.Error](err); err != nil && (!ok || w.healthy) {
		w.failf("invalidation: %v", err)
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

func (w *world) write(k int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now[k]++
	w.born[k] = append(w.born[k], time.Now())
}

// operations returns the operations and the weights of their random choice.
func (w *world) operations(k int) []struct {
	name   string
	weight int
	do     func()
} {
	ctx := w.t.Context()
	const stale = worldTTL + worldStale
	most := stale + worldError
	read := func(limit time.Duration, opts ...cache.Option) func() {
		return func() {
			r, err := w.c.Fetch(ctx, k, nil, opts...)
			if err != nil {
				if !w.down || !errors.Is(err, errSource) {
					w.failf("key %d: %v", k, err)
				}
				return
			}
			if !r.Stale && limit > worldTTL {
				limit = worldTTL
			}
			w.judge(k, r.Value, limit)
		}
	}
	return []struct {
		name   string
		weight int
		do     func()
	}{
		{"fetch", 30, read(most)},
		{"fetch fresh", 5, read(worldTTL, cache.Fresh())},
		{"fetch young", 5, read(3*time.Second, cache.MaxAge(3*time.Second))},
		{"fetch now", 3, read(0, cache.MaxAge(0))},
		{"peek", 5, func() {
			if v, ok := w.c.Peek(ctx, k); ok {
				w.judge(k, v, most)
			}
		}},
		{"get many", 8, func() {
			m, err := w.c.GetMany(ctx, []int{k, (k + 1) % worldKeys, (k + 3) % worldKeys})
			if err != nil && !errors.Is(err, errSource) {
				w.failf("GetMany: %v", err)
			}
			for k, v := range m {
				w.judge(k, v, most)
			}
		}},
		{"write", 15, func() { w.write(k) }},
		{"write and delete", 6, func() { w.write(k); w.invalidated(w.c.Delete(ctx, k), k) }},
		{"write and set", 6, func() { w.write(k); w.invalidated(w.c.Set(ctx, k, w.now[k]), k) }},
		{"write and tag", 3, func() {
			w.write(k)
			w.invalidated(w.tiers.Invalidate(ctx, invalidate.Tag("default", fmt.Sprint("parity", k%2))), k%2, k%2+2, k%2+4)
		}},
		{"write and delete all", 2, func() { w.write(k); w.invalidated(w.c.DeleteAll(ctx), 0, 1, 2, 3, 4, 5) }},
		{"expire", 4, func() { w.invalidated(w.c.Expire(ctx, k)) }},
		{"refresh", 4, func() {
			if err := w.c.Refresh(ctx, k); (err != nil) != w.down {
				w.failf("Refresh: %v", err)
			}
		}},
		{"a moment", 10, func() { advance(time.Duration(w.r.IntN(2000)) * time.Millisecond) }},
		{"a while", 6, func() { advance(time.Duration(w.r.IntN(60)) * time.Second) }},
		{"source down", 2, func() { w.setDown(true) }},
		{"source up", 4, func() { w.setDown(false) }},
		{"remote fails", 2, func() { w.harm().Fail(errRemote) }},
		{"remote hangs", 1, func() { w.harm().Hang(true) }},
		{"remote corrupt", 2, func() { w.harm().Corrupt(tiertest.FlipBit(w.r.IntN(1000))) }},
		{"remote loses fills", 2, func() { w.harm().Fills(tiertest.FillsLost) }},
		{"remote heals", 6, func() { w.remote.Heal() }},
	}
}

// The test runs random operations one after the other, with refreshes in between. No read
// returns a version from before the last invalidation, or one that was outdated for longer than
// the policy allows.
func TestModel(t *testing.T) {
	seed := seedOf(t)
	for run := range uint64(20) {
		bubble(t, fmt.Sprint("run ", run), func(t *testing.T) {
			w := &world{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, run)), remote: faulty(), healthy: true}
			for k := range worldKeys {
				w.born[k] = []time.Time{time.Now()}
			}
			tc := cache.TiersConfig{}
			if run%4 != 0 {
				tc.Remote = []func(*tiertest.Faulty) tier.Remote{asIs, asLooker}[run/4%2](w.remote)
			}
			w.tiers = open(t, tc)
			cfg := cache.Config[int, int]{Load: w.load, Tags: w.tags, Policy: patch{
				TTL: new(worldTTL), Stale: new(worldStale), StaleIfError: new(worldError), RefreshAhead: new(float64(run % 2)),
			}}
			if run%3 == 0 {
				cfg.LoadMany = w.loadMany
			}
			w.c = with(t, w.tiers, cfg)
			for w.step = range 1000 {
				k := w.r.IntN(worldKeys)
				ops := w.operations(k)
				sum := 0
				for _, op := range ops {
					sum += op.weight
				}
				n := w.r.IntN(sum)
				for _, op := range ops {
					if n -= op.weight; n < 0 {
						w.history = append(w.history, fmt.Sprintf("%s %d", op.name, k))
						w.asked = time.Now()
						op.do()
						break
					}
				}
				synctest.Wait() // refreshes end before the next operation
			}
			w.remote.Heal()
		})
	}
}

const (
	skipKeys  = 4
	skipTTL   = 10 * time.Second
	skipBound = 2 * time.Second
)

// skipWorld is the model of two processes on one remote tier and one log. Their calls skip tiers
// at random. The source has versions.
type skipWorld struct {
	t      *testing.T
	seed   uint64
	remote *tiertest.Faulty
	tiers  []*cache.Tiers
	caches []cache.Cache[int, int]

	now   [skipKeys]int
	born  [skipKeys][]time.Time
	floor [2][skipKeys][]floor // by process
	seen  [2][skipKeys]int     // by reads that skipped only the local tier

	history []string
}

// floor says that from a time on, a process serves no version below this one.
type floor struct {
	from    time.Time
	version int
}

func (w *skipWorld) failf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("TWOFOLD_SEED=%d: %s\nlast operations: %v", w.seed, fmt.Sprintf(format, args...), w.history[max(0, len(w.history)-20):])
}

func (w *skipWorld) write(k int) {
	w.now[k]++
	w.born[k] = append(w.born[k], time.Now())
}

// invalidated records what a call of process p promises when it returns nil.
func (w *skipWorld) invalidated(p, k int, err error) {
	if err != nil {
		w.failf("process %d, key %d: %v", p, k, err)
	}
	for q := range w.floor {
		from := time.Now()
		if q != p {
			from = from.Add(skipBound)
		}
		w.floor[q][k] = append(w.floor[q][k], floor{from, w.now[k]})
	}
}

// judge checks the result of a read of process p that began at asked.
func (w *skipWorld) judge(p, k, v int, asked time.Time) {
	for _, f := range w.floor[p][k] {
		if v < f.version && !asked.Before(f.from) {
			w.failf("process %d, key %d: version %d, but everything below %d was invalidated", p, k, v, f.version)
		}
	}
	if v < w.now[k] && asked.Sub(w.born[k][v+1]) > skipTTL {
		w.failf("process %d, key %d: version %d was outdated for longer than the TTL", p, k, v)
	}
}

// read makes one read of process p and checks that it does not use the tiers that it skips.
func (w *skipWorld) read(p, k int, many, skipLocal, skipRemote bool, opts []cache.Option) {
	c, ctx, asked := w.caches[p], w.t.Context(), time.Now()
	if skipLocal {
		opts = append(opts, cache.SkipLocal())
	}
	if skipRemote {
		opts = append(opts, cache.SkipRemote())
	}
	calls, before := w.remote.Calls(), w.tiers[p].Stats().Local.Entries
	var r cache.Result[int]
	var err error
	if many {
		var m map[int]int
		m, err = c.GetMany(ctx, []int{k}, opts...)
		r.Value = m[k]
	} else {
		r, err = c.Fetch(ctx, k, nil, opts...)
	}
	synctest.Wait() // includes work in the background
	switch {
	case err != nil:
		w.failf("process %d, key %d: %v", p, k, err)
	case skipLocal && (r.Source == cache.Local || w.tiers[p].Stats().Local.Entries > before):
		w.failf("process %d, key %d: the local tier was used: %+v", p, k, r)
	case skipRemote && (r.Source == cache.Remote || w.remote.Calls() > calls):
		w.failf("process %d, key %d: the remote tier was used: %+v, %d calls", p, k, r, w.remote.Calls()-calls)
	case !skipRemote && r.Value < w.seen[p][k]:
		w.failf("process %d, key %d: version %d after %d", p, k, r.Value, w.seen[p][k])
	case skipLocal && !skipRemote:
		w.seen[p][k] = r.Value
	}
	w.judge(p, k, r.Value, asked)
}

func (w *skipWorld) step(r *rand.Rand) {
	p, k, kind := r.IntN(2), r.IntN(skipKeys), r.IntN(100)
	skipLocal, skipRemote := r.IntN(3) == 0, r.IntN(3) == 0
	w.history = append(w.history, fmt.Sprintf("%d: p%d key %d local=%v remote=%v", kind, p, k, !skipLocal, !skipRemote))
	var opts []cache.Option
	switch {
	case kind < 50:
		if r.IntN(4) == 0 {
			opts = append(opts, cache.MaxAge(time.Duration(r.IntN(3))*time.Second))
		}
		w.read(p, k, r.IntN(4) == 0, skipLocal, skipRemote, opts)
	case kind < 70:
		w.write(k)
	case kind < 78:
		w.write(k)
		w.invalidated(p, k, w.caches[p].Delete(w.t.Context(), k))
	case kind < 88:
		if skipLocal {
			skipRemote = false
			opts = append(opts, cache.SkipLocal())
		}
		if skipRemote {
			opts = append(opts, cache.SkipRemote())
		}
		w.write(k)
		w.invalidated(p, k, w.caches[p].Set(w.t.Context(), k, w.now[k], opts...))
	default:
		advance(time.Duration(r.IntN(6000)) * time.Millisecond)
	}
	advance(5 * time.Millisecond) // frames count whole milliseconds, and ages must differ
}

// Two processes make random calls that skip tiers. No call reads from or stores in a tier that
// it skips, and every guarantee holds.
func TestSkipModel(t *testing.T) {
	seed, steps := seedOf(t), uint64(20)
	if race.Enabled {
		steps = 5
	}
	for run := range steps {
		synctest.Test(t, func(t *testing.T) {
			log := logtest.NewMemory(logtest.MemoryConfig{Bound: skipBound})
			w := &skipWorld{t: t, seed: seed, remote: faulty()}
			for k := range skipKeys {
				w.born[k] = []time.Time{time.Now()}
			}
			load := func(_ context.Context, k int) (int, error) { return w.now[k], nil }
			cfg := cache.Config[int, int]{Load: load, Policy: policy.Patch{
				TTL: new(skipTTL), Stale: new(time.Duration(0)), StaleIfError: new(time.Duration(0)), RefreshAhead: new(float64(run % 2)),
			}}
			for range 2 {
				tiers := open(t, cache.TiersConfig{Remote: w.remote, Log: log})
				w.tiers, w.caches = append(w.tiers, tiers), append(w.caches, with(t, tiers, cfg))
				must(t, tiers.Ready(t.Context()))
			}
			r := rand.New(rand.NewPCG(seed, run))
			for range 400 {
				w.step(r)
			}
		})
	}
}
