package cache_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A loader's Stale and StaleIfError bind the process that loaded the value, and any process with
// another policy that reads its cell.
func TestTermsBindEveryReader(t *testing.T) {
	none := patch{TTL: new(10 * time.Second)}
	swr, sie := patch{TTL: none.TTL, Stale: new(time.Minute)}, patch{TTL: none.TTL, StaleIfError: new(time.Minute)}
	for _, tt := range []struct {
		says           string
		writer, reader patch
		after          string
		down           bool
		want           string // of both; or the writer's and the reader's
	}{
		{"", swr, swr, "30s", false, "1.1 stale"},
		{"", swr, none, "30s", false, "1.1 stale|1.2 load"},
		{"", none, swr, "30s", false, "1.2 load"},
		{"stale=1m", none, none, "69s", false, "1.1 stale"},
		{"stale=1m", none, swr, "70s", false, "1.2 load"},
		{"stale=0s", swr, swr, "10s", false, "1.2 load"},
		{"stale=-1m", swr, swr, "10s", false, "1.2 load"},
		{"stale=0s", swr, swr, "10s", true, "failed"},
		{"", sie, none, "30s", true, "1.1 stale"},
		{"iferror=1m", none, none, "69s", true, "1.1 stale"},
		{"iferror=1m", none, sie, "70s", true, "failed"},
		{"iferror=1m", none, swr, "30s", false, "1.2 load"},
		{"iferror=0s", sie, sie, "10s", true, "failed"},
		{"stale=1m iferror=1m", none, none, "129s", true, "1.1 stale"},
		{"ttl=0s stale=1m", none, none, "0s", false, "1.1 stale"}, // never fresh
		{"stale=1m ttl=-1s", none, none, "0s", false, "1.1 stale"},
		{"ttl=0s iferror=1m", none, none, "59s", true, "1.1 stale"},
		{"ttl=0s iferror=1m", none, swr, "0s", false, "1.2 load"},
		{"ttl=0s stale=0s", swr, swr, "0s", false, "1.2 load"}, // not stored
		{"ttl=0s stale=1m nostore", swr, swr, "0s", false, "1.2 load"},
	} {
		for i, who := range []string{"a", "b"} {
			wants := strings.Split(tt.want, "|")
			source := "well"
			if tt.down {
				source = "fails"
			}
			play(t, scene{name: fmt.Sprintf("%s, a source that %s, read by %s after %s", tt.says, source, who, tt.after), on: paired,
				cfg: thingConfig{Policy: tt.writer}, other: &tt.reader, steps: `
					says ` + tt.says + `; a gets 1.1; wait ` + tt.after + `; source ` + source + `; ` + who + ` gets ` + wants[i*(len(wants)-1)]})
		}
	}
}

// After an Expire the value's own Stale and StaleIfError count from the Expire. This also holds
// for a value with TTL policy.Forever. An Expire does not remove a value that has no end.
func TestTermsAndExpire(t *testing.T) {
	cfg := thingConfig{Policy: patch{Stale: new(time.Hour), StaleIfError: new(time.Hour)}}
	for _, ttl := range []string{"1h", policy.Forever.String()} {
		play(t, scene{name: ttl, on: logged, cfg: cfg, steps: `
			says stale=10s iferror=10s ttl=` + ttl + `; a gets 1.1; b gets 1.1; a expires key; source fails; wait 2s
			a gets 1.1 local stale; b gets 1.1 local stale; wait 15s; a gets 1.1 local stale; b gets 1.1 local stale
			wait 10s; a gets failed; b gets failed`})
	}
	const ever = time.Duration(math.MaxInt64)
	for _, ttl := range []string{"1h", "10h", "1000h"} {
		for _, says := range []string{
			"stale=" + ever.String(), "stale=1h iferror=" + ever.String(), "stale=" + (290 * 365 * 24 * time.Hour).String(), "stale=1h keep=" + ever.String(),
		} {
			play(t, scene{name: ttl + " " + says, on: paired, steps: `
				says ttl=` + ttl + ` ` + says + `; a gets 1.1; wait 1s; a expires; wait 1m; b peeks 1.1`})
		}
	}
}

// The policy's StaleIfError lets a value stand in for a slow load after SoftTimeout. A Stale of zero
// prevents this, but not for a fresh value whose LocalTTL has passed.
func TestSlowLoadOfAValueThatIsNeverStale(t *testing.T) {
	cfg := thingConfig{Policy: patch{TTL: new(time.Minute), StaleIfError: new(time.Hour), SoftTimeout: new(time.Second)}}
	for says, want := range map[string]string{
		"": "1.1 local stale", "stale=1s": "1.1 local stale", "stale=0s": "1.2 load", "ttl=0s stale=0s iferror=1h": "1.2 load",
	} {
		play(t, scene{name: says, cfg: cfg, steps: "says " + says + "; source takes=10s; a gets 1.1; wait 2m; a gets " + want})
	}
	cfg.Policy.TTL, cfg.Policy.LocalTTL = new(time.Hour), new(time.Minute)
	play(t, scene{name: "LocalTTL", on: paired, cfg: cfg, steps: `
		says stale=0s; source takes=10s; a gets 1.1; wait 2m; remote empties; a gets 1.1 local stale`})
}

// said is one load of the model: the lifetimes that it set, and when it began.
type said struct {
	at                        time.Time
	ttl, stale, ifError, keep time.Duration
	tags                      int
}

// termsModel is two processes on one log. Their loader sets other lifetimes for each value.
type termsModel struct {
	*testing.T
	rnd     *rand.Rand
	ts      []*cache.Tiers
	cs      []things
	down    bool
	loads   int
	next    said
	of      map[string][]said // by value: the loads that returned it or ErrNotModified for it
	died    time.Time         // when a tag of all values was last invalidated
	expired time.Time
}

func (m *termsModel) load(ctx context.Context, _ int) (string, error) {
	f, now := cache.Filling(ctx), m.next
	now.at = time.Now()
	f.SetLifetime(cache.Lifetime{TTL: &now.ttl, Stale: &now.stale, StaleIfError: &now.ifError, Keep: &now.keep})
	cache.Depend(ctx, append(tagNames(now.tags), "last")...) // beyond the limit a cell has no room for "last"
	v, ok := cache.Previous[string](ctx)
	if ok {
		m.known(m.of, v, "Previous", func(s said) time.Duration { return s.ttl + s.stale + s.ifError + s.keep })
	}
	m.loads++
	switch {
	case m.down:
		return "", errSource
	case ok && m.loads%3 > 0:
		m.of[v] = append(slices.Clip(m.of[v]), now)
		return "", cache.ErrNotModified
	}
	v = fmt.Sprint("v", m.loads)
	m.of[v] = []said{now}
	return v, nil
}

// known checks that a load after the last invalidation returned the value, and that the value is
// not older than that load allows. If a load was not stored, the limits of an earlier load still
// hold.
func (m *termsModel) known(of map[string][]said, v, by string, most func(said) time.Duration) {
	if !slices.ContainsFunc(of[v], func(s said) bool { return !s.at.Before(m.died) && time.Since(s.at) <= most(s) }) {
		m.Errorf("%v: %s = %s, last invalidated at %v; its loads are %+v", time.Now(), by, v, m.died, of[v])
	}
}

func (m *termsModel) read(i int, opts ...cache.Option) {
	before := maps.Clone(m.of)
	r, err := m.cs[i].Fetch(m.Context(), 1, nil, opts...)
	synctest.Wait() // wait for a refresh
	switch {
	case err != nil && !m.down:
		m.Errorf("Fetch: %v", err)
	case err != nil:
	case r.Source == cache.Load && !r.Stale:
		m.known(m.of, r.Value, "a load", func(said) time.Duration { return 0 })
	case !r.Stale:
		m.known(before, r.Value, "a fresh value", func(s said) time.Duration {
			if s.at.Before(m.expired) {
				return -1
			}
			return s.ttl
		})
	case m.down:
		m.known(before, r.Value, "a value instead of an error", func(s said) time.Duration { return s.ttl + s.stale + s.ifError })
	default:
		m.known(before, r.Value, "a stale value", func(s said) time.Duration { return s.ttl + s.stale })
	}
}

func (m *termsModel) check(err error) {
	if err != nil {
		m.Error(err)
	}
	advance(bound)
}

// draw returns one of some values at random.
func draw[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (m *termsModel) time() time.Duration {
	return draw(m.rnd, 0, time.Second, 10*time.Second, time.Minute)
}

func (m *termsModel) step() {
	m.next = said{ttl: m.time(), stale: m.time(), ifError: m.time(), keep: m.time(), tags: draw(m.rnd, 2, 100, 256, 300)}
	i := m.rnd.IntN(len(m.cs))
	switch m.rnd.IntN(10) {
	case 0:
		advance(time.Millisecond)
		at := time.Now()
		m.check(m.ts[i].Invalidate(m.Context(), invalidate.Tag(cache.DefaultTenant, draw(m.rnd, "tag0", "last"))))
		m.died = at
	case 1:
		advance(time.Millisecond)
		at := time.Now()
		m.check(m.ts[i].Expire(m.Context(), invalidate.Tag(cache.DefaultTenant, "last")))
		m.expired = at
	case 2:
		m.down = !m.down
	case 3:
		if v, ok := m.cs[i].Peek(m.Context(), 1); ok {
			m.known(m.of, v, "Peek", func(s said) time.Duration { return s.ttl + s.stale })
		}
	case 4:
		advance(m.time() + time.Second)
	case 5:
		m.read(i, cache.Fresh())
	case 6:
		m.read(i, cache.MaxAge(time.Hour))
	default:
		advance(m.time())
		m.read(i)
	}
	synctest.Wait()
}

// Two processes read, expire and invalidate values with random lifetimes and tags. Each answer
// must fit the lifetimes that the loaders set.
func TestTermsModel(t *testing.T) {
	for seed := range uint64(100) {
		bubble(t, fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := &termsModel{T: t, rnd: rand.New(rand.NewPCG(seed, 0)), of: map[string][]said{}}
			m.ts, m.cs = fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{Log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound})}, thingConfig{
				Load:   m.load,
				Policy: patch{Stale: new(time.Hour), StaleIfError: new(time.Hour), Throttle: new(time.Duration), RefreshAhead: new(0.0)},
			})
			synctest.Wait()
			for range 40 {
				m.step()
			}
		})
	}
}

// A kept value is not served. The load that replaces it gets it as Previous. ErrNotModified
// makes it fresh again for the lifetime that this load sets.
func TestKept(t *testing.T) {
	cfg := thingConfig{Policy: patch{Stale: new(time.Minute)}}
	const on = "alone paired"
	play(
		t,
		scene{name: "confirmed", on: on, cfg: cfg, steps: `
			source unchanged; says ttl=10s keep=1h; a gets 1.1; wait 1h1m9s; b peeks nothing
			says ttl=1m; b gets 1.1 load MaxAge=24h; loads 2; previous 1.1; wait 59s; b gets 1.1 local
			wait 2m1s; a gets 1.3 load; previous nothing`}, // the last load did not keep it
		scene{name: "Keep ends", on: on, cfg: cfg, steps: "says ttl=10s keep=1h; a gets 1.1; wait 1h1m10s; b gets 1.2; previous nothing"},
		scene{name: "not kept", on: on, cfg: cfg, steps: "says ttl=10s; a gets 1.1; wait 1h1m9s; b gets 1.2; previous nothing"},
		scene{name: "below zero", on: on, cfg: cfg, steps: "says ttl=10s keep=1h keep=-1h; a gets 1.1; wait 1h1m9s; b gets 1.2; previous nothing"},
		// Without a log an invalidation by tag reaches only this process.
		scene{name: "invalidated", on: on, cfg: cfg, steps: "says ttl=10s keep=1h; a gets 1.1; wait 5m; b invalidates tag; b gets 1.2; previous nothing"},
		// Without a log an Expire rewrites the cell. Keep then counts from the new end.
		scene{name: "expired", on: paired, cfg: cfg, steps: `
			says ttl=1h keep=1h stale=1m; a gets 1.1; wait 1s; a expires; wait 30s; b peeks 1.1; wait 1h29s; b gets 1.2; previous 1.1`},
		// It is loaded at each read. When the source fails, the kept value is not served, and stays kept. Of a
		// local and a remote value the newer is Previous.
		scene{name: "never fresh", on: on, cfg: cfg, steps: `
			source unchanged; says keep=1h ttl=0s stale=0s; a gets 1.1 load; b gets 1.1 load; a gets 1.1 load; loads 3; previous 1.1
			source fails; a gets failed; b gets failed; loads 5; previous 1.1; source well; source changed; wait 1s
			b gets 1.6 load; previous 1.1; a gets 1.7 load; previous 1.6`},
		scene{name: "an absence has no value to keep", on: on, cfg: cfg, steps: `
			source absent; says ttl=0s keep=1h stale=1h; a gets absent load; a gets absent load; loads 2; previous nothing; a counts Fills.NotWanted=2`},
	)
}

// ErrNotModified is an error if there is no previous value.
func TestNotModifiedWithoutPrevious(t *testing.T) {
	play(t, scene{err: cache.ErrNotModified, steps: "source fails; a gets unmodified"})
	if _, ok := cache.Previous[string](t.Context()); ok {
		t.Error("Previous outside a loader reports a value")
	}
}

// A value that is built from a never-fresh value is as fresh as its own loader says. This holds
// in the process that loaded the part and in others.
func TestBuiltOfNeverFresh(t *testing.T) {
	play(t, scene{on: paired, pages: &longLived, steps: "says ttl=0s stale=1h; a gets 1.1 load; b page 1.1 load; b page 1.1 local; a gets any stale; a page any; a page any local"})
}

// unchanged returns a loader that gets its first value from build. After that it reports that
// its source has not changed.
func unchanged(build func(context.Context) (string, error)) func(context.Context, int) (string, error) {
	return func(ctx context.Context, _ int) (string, error) {
		if _, ok := cache.Previous[string](ctx); ok {
			return "", cache.ErrNotModified
		}
		return build(ctx)
	}
}

// A load waits for its turn, and an invalidation returns meanwhile. Previous must then not
// return a value from before the invalidation.
func TestPreviousIsNotOlderThanTheMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{MaxLoads: 1})
		var version atomic.Int64
		version.Store(1)
		part := with(t, tiers, thingConfig{Namespace: "part", Tags: tagT, Load: func(context.Context, int) (string, error) {
			return fmt.Sprint("v", version.Load()), nil
		}})
		outer := with(t, tiers, thingConfig{Namespace: "outer", Load: unchanged(func(ctx context.Context) (string, error) {
			return part.Get(ctx, 1)
		})})
		goOn := make(chan struct{})
		slow := with(t, tiers, thingConfig{Namespace: "slow", Load: func(context.Context, int) (string, error) {
			<-goOn
			return "", nil
		}})
		get(t, outer, 1)
		go func() { _, _ = slow.Get(t.Context(), 1) }()
		synctest.Wait()
		go func() { _ = outer.Refresh(t.Context(), 1) }()
		synctest.Wait() // the refresh waits for its turn
		version.Store(2)
		invalidateTag(t, tiers, "t")
		close(goOn)
		synctest.Wait()
		equal(t, get(t, outer, 1), "v2", "after the invalidation")
	})
}

// ErrNotModified says that the loader's own source has not changed. It says nothing of the
// value's parts. So a process that is cut off from the log still keeps the bound.
func TestNotModifiedVouchesForNoPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{}, noRemote)
		w.src.fixed = "old"
		outer := with(t, w.tiers[1], thingConfig{Namespace: "outer", Load: unchanged(func(ctx context.Context) (string, error) {
			return w.c[1].Get(ctx, 1)
		})})
		get(t, outer, 1) // loads the part, too
		advance(2 * bound)
		w.link[1].Fail(errDown)
		at := time.Now()
		w.change(t)
		for time.Since(at) < 5*bound {
			advance(bound / 2)
			_ = outer.Refresh(t.Context(), 1)
			if age := time.Since(at); get(t, outer, 1) == "old" && age > bound {
				t.Fatalf("the old value is served %v after the invalidation, bound %v", age, bound)
			}
		}
	})
}

// failingFills fails fills and leaves their claims in place.
type failingFills struct{ tier.Remote }

func (f failingFills) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) error {
	if len(fills[0].Cell) > 0 {
		return errRemote
	}
	return f.Remote.Fill(ctx, keys, fills, stored)
}

// A failed fill leaves no claim that others would wait for.
func TestFailedFillLeavesNoClaim(t *testing.T) {
	for _, call := range []string{"gets any", "sets v maybe", "batches 1-3"} {
		play(t, scene{name: call, on: paired, as: ofA(func(r tier.Remote) tier.Remote { return failingFills{r} }), steps: `
			a ` + call + "; b gets any; took 0s-100ms"})
	}
}

// DependOnPrevious gives a value the tags of the previous one, from which it was made.
func TestDependOnPrevious(t *testing.T) {
	for value, says := range map[string]bool{"v": true, "v''": false} {
		play(t, scene{name: value, cfg: thingConfig{Tags: func(int, string) []string { return nil }, Load: func(ctx context.Context, _ int) (string, error) {
			if v, ok := cache.Previous[string](ctx); ok {
				if says {
					cache.Filling(ctx).DependOnPrevious()
				}
				return v + "'", nil
			}
			cache.Depend(ctx, "t")
			return "v", nil
		}}, steps: "a gets v; a refreshes; a refreshes; a gets v''; a invalidates tag; a gets " + value})
	}
}
