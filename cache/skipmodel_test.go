package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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
