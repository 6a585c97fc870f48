package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var longLived = patch{TTL: new(time.Hour), NegativeTTL: new(time.Hour), Stale: new(time.Hour)}

// tower is how values are built on each other. Its level 0 is the cache of a process of a duo, and each
// level is built from the one below, key by key.
type tower struct {
	depth  int // of the built values
	by     func(ctx context.Context, below things, k int) (string, error)
	policy patch
	many   bool // built values have LoadMany
	apart  bool // odd levels are on other Tiers of the process
}

func (o tower) build(t *testing.T, w *duo, i int) []things {
	t.Helper()
	levels, tiers := []things{w.c[i]}, [2]*cache.Tiers{w.tiers[i], w.tiers[i]}
	if o.apart {
		advance(bound / 7) // the two Tiers count time from different moments
		tiers[1] = open(t, cache.TiersConfig{Remote: w.wire[i], Log: w.link[i]})
	}
	for n := range o.depth {
		cfg := loading(func(ctx context.Context, k int) (string, error) { return o.by(ctx, levels[n], k) }, o.many)
		cfg.Namespace, cfg.Policy = fmt.Sprint("level", n+1), o.policy
		levels = append(levels, with(t, tiers[(n+1)%2], cfg))
	}
	synctest.Wait()
	return levels
}

// readBelow returns a loader's way to read the level below. Without a value there it makes one of its own.
func readBelow(by way) func(context.Context, things, int) (string, error) {
	return func(ctx context.Context, below things, k int) (string, error) {
		v, err := by.read(ctx, below, k)
		if errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrNotFound) {
			return "none", nil
		}
		return v, err
	}
}

// change writes to the source, and process 0 invalidates what was built from it.
func (w *duo) change(t *testing.T, more ...invalidate.Scope) {
	t.Helper()
	w.src.set(func(s *source) { s.fixed, s.err = "new", nil })
	w.invalidate(t, 0, append(more, invalidate.Tag(cache.DefaultTenant, "t"), invalidate.Prefix("default", "things:"))...)
}

func noRemote(*tiertest.Faulty) tier.Remote { return nil }

// An invalidation of a part ends what was built from it: in the process that calls, in one that
// has a copy, and in one that has only the frame. It does not matter which call invalidates.
func TestInvalidationsReachWhatWasBuilt(t *testing.T) {
	for want, calls := range map[string][]string{
		"!12.1": {
			"deletes", "sets set", "sets-many", "deletes-many", "deletes all",
			"invalidates prefix=things:1", "invalidates prefix=things:", "invalidates prefix=thi", "invalidates tenant",
		},
		"12.1 stale": {"expires", "expires prefix=things:1", "expires prefix=things:"},
	} {
		for _, call := range calls {
			here := "; a page " + want + " key=12"
			if strings.HasPrefix(call, "expires") { // a refresh would replace the frame
				here = ""
			}
			reads := strings.NewReplacer("CALL", call+" key=12", "PAGE", "page "+want+" key=12", "HERE", here)
			for name, steps := range map[string]string{
				"":                               "a page 12.1 key=12; b page 12.1 key=12; a CALLHERE; wait 2s; b PAGE; a PAGE",
				", the frame only":               "a page 12.1 key=12; a CALL; wait 2s; b PAGE",
				", a process that starts later":  "a page 12.1 key=12; a CALL; b restarts; b PAGE",
				", a process that starts before": "a page 12.1 key=12; b restarts; a CALL; wait 2s; b PAGE",
			} {
				play(t, scene{name: call + name, on: logged, cfg: thingConfig{Policy: longLived}, pages: &longLived, steps: reads.Replace(steps)})
			}
		}
	}
	for _, call := range []string{"deletes key=1", "expires key=1", "invalidates prefix=other:", "invalidates another-tenant"} {
		play(t, scene{name: call, on: logged, cfg: thingConfig{Policy: longLived}, pages: &longLived, steps: `
			a page 12.1 key=12; a ` + call + `; a page 12.1 local key=12; wait 2s; b page 12.1 remote key=12; b restarts; b page 12.1 remote key=12`})
	}
}

// It does not matter how the loader read the part, or where the part was: an invalidation of its key
// or of its tag ends what was built from it. Tags of an absence count, too, if its loader named them.
func TestWaysToReadAPart(t *testing.T) {
	failing := way{read: func(ctx context.Context, below things, k int, _ ...cache.Option) (string, error) {
		v, err := below.GetOrLoad(ctx, k, func(context.Context, int) (string, error) { return "", errSource })
		if errors.Is(err, errSource) {
			return "none", nil
		}
		return v, err
	}}
	confirm := func(ctx context.Context, below things, k int) (string, error) {
		return unchanged(func(ctx context.Context) (string, error) { return below.Get(ctx, k) })(ctx, k)
	}
	tests := []partRead{
		{name: "an absence", none: true},
		{name: "an absence that Peek finds", none: true, part: "a hit", tower: tower{by: readBelow(ways[4])}},
		{name: "a failure that the loader answers", none: true, bare: true, tower: tower{by: readBelow(failing)}},
		{name: "two levels", tower: tower{depth: 2}},
		{name: "two levels, a hit", tower: tower{depth: 2}, part: "a hit"},
		{name: "LoadMany", tower: tower{many: true}},
		{name: "two levels, LoadMany", tower: tower{depth: 2, many: true}},
		{name: "LocalOnly", local: true},
		{name: "other Tiers", tower: tower{apart: true}},
		{name: "no remote tier", as: noRemote},
		{name: "ErrNotModified", tower: tower{by: confirm}, refreshed: true},
	}
	for _, way := range ways {
		by := tower{by: readBelow(way)}
		tests = append(tests, partRead{name: way.name, tower: by, none: way.name == "Peek", bare: way.name == "Peek"})
		for _, part := range []string{"a hit", "a remote hit", "a stale hit"} {
			tests = append(tests, partRead{name: way.name + ", " + part, tower: by, part: part}, partRead{name: way.name + ", an absence, " + part, tower: by, part: part, none: true})
		}
	}
	for _, tt := range tests {
		for _, end := range []string{"key", "tag"} {
			bubble(t, tt.name+", "+end, func(t *testing.T) { tt.play(t, end) })
		}
	}
}

// partRead is one way to read a part.
type partRead struct {
	name      string
	tower     tower // with a depth of 1 and by Get, if it has no others
	as        func(*tiertest.Faulty) tier.Remote
	part      string // where it is when the page is built: nowhere, "a hit", "a remote hit" or "a stale hit"
	none      bool   // the part does not exist at first
	bare      bool   // the read gives nothing that could have a tag
	local     bool   // the parts are LocalOnly
	refreshed bool   // the page is
}

func (r partRead) play(t *testing.T, end string) {
	if r.as == nil {
		r.as = asIs
	}
	if r.tower.by == nil {
		r.tower.by = readBelow(ways[0])
	}
	r.tower.depth, r.tower.policy = max(r.tower.depth, 1), longLived
	var w *duo
	cfg := thingConfig{Tags: tagT, LocalOnly: r.local, Policy: longLived, Load: func(ctx context.Context, k int) (string, error) {
		v, err := w.src.load(ctx, k)
		if err != nil {
			cache.Depend(ctx, "t")
		}
		return v, err
	}}
	if r.part == "a stale hit" {
		cfg.Policy = patch{TTL: swr.TTL, Stale: swr.Stale, NegativeTTL: new(time.Hour)}
	}
	w = newDuo(t, logged, cache.TiersConfig{}, cfg, r.as)
	w.src.fixed = "old"
	if r.none {
		w.src.fail(cache.ErrNotFound)
	}
	if r.part == "a remote hit" || r.part == "a stale hit" {
		_, _ = w.c[0].Get(t.Context(), 1)
		advance(20 * time.Second)
	}
	if r.part == "a remote hit" {
		w.start(0)
		w.start(1)
	}
	var pages [2]things
	for i := range pages {
		pages[i] = r.tower.build(t, w, i)[r.tower.depth]
		if r.part == "a hit" {
			_, _ = w.c[i].Get(t.Context(), 1)
		}
		equal(t, get(t, pages[i], 1), map[bool]string{false: "old", true: "none"}[r.none], "the page of process %d is", i)
		if r.refreshed {
			must(t, pages[i].Refresh(t.Context(), 1))
		}
	}
	w.src.set(func(s *source) { s.fixed, s.err = "new", nil })
	if end == "tag" && !r.bare {
		w.invalidate(t, 0, invalidate.Tag(cache.DefaultTenant, "t"))
	} else {
		must(t, w.c[0].Set(t.Context(), 1, "new"))
	}
	if r.tower.apart {
		advance(bound) // the other Tiers learn of it from the log
	}
	for i, page := range pages {
		_, _ = w.c[i].Get(t.Context(), 1) // for Peek
		equal(t, get(t, page, 1), "new", "afterwards the page of process %d is", i)
		advance(bound)
	}
}

// A process that cannot know whether a key fence covers a frame's parts refuses the frame. A frame
// without parts stays in use: the invalidation of its own key removed it.
func TestBuiltFramesAfterAGap(t *testing.T) {
	const later = "; a deletes key=2-4; log trims; b restarts; wait 2s; b "
	play(
		t,
		scene{name: "built", on: logged, pages: &longLived, cfg: thingConfig{Policy: longLived}, steps: "a page 1.1" + later + "page 1.1 load"},
		scene{name: "tagged", on: logged, cfg: thingConfig{Policy: longLived}, steps: "a gets 1.1" + later + "gets 1.1 remote"},
	)
}

// A built value outlives the invalidations of keys that it was not built from, in every tier.
func TestBuiltValuesOutliveOtherKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{LoadMany: (&source{}).loadMany, Policy: longLived}, asIs)
		loads := 0
		pages := tower{depth: 1, policy: longLived, by: func(ctx context.Context, parts things, k int) (string, error) {
			loads++
			m, err := parts.GetMany(ctx, ints(0, 300))
			return m[k], err
		}}
		a, b := pages.build(t, w, 0)[1], pages.build(t, w, 1)[1]
		get(t, a, 12)
		otherDeletes(t, w.c[0], 300, 2000)
		advance(bound)
		get(t, a, 12)
		get(t, b, 12)
		equal(t, loads, 1, "loads of the page after the Deletes of other keys")
		must(t, w.c[0].Delete(t.Context(), 299))
		get(t, a, 12)
		equal(t, loads, 2, "loads of the page after the Delete of a part")
	})
}

// A value with more tags or parts than a cell can hold is invalidated by each of them, and by any
// other tag, or any other key and prefix. This holds in the process that loaded it, in one that
// reads its cell, and for values built from it. Within the limits other scopes do not invalidate it.
func TestTagsAndPartsBeyondTheLimit(t *testing.T) {
	const limit = 256
	tag := func(name string) invalidate.Scope { return invalidate.Tag(cache.DefaultTenant, name) }
	for _, tt := range []struct {
		name  string
		tags  int
		parts int
		scope invalidate.Scope
		soft  bool
		dies  bool
	}{
		{"the first tag", 1000, 0, tag("tag0"), false, true},
		{"a tag behind the limit", 1000, 0, tag("tag999"), false, true},
		{"the first one behind the limit", limit + 1, 0, tag("tag256"), false, true},
		{"the one that made room", limit + 1, 0, tag("tag255"), false, true},
		{"another tag", limit + 1, 0, tag("unknown"), false, true},
		{"another tenant's tag", limit + 1, 0, invalidate.Tag("acme", "tag0"), false, true},
		{"a tag that expires", 1000, 0, tag("tag999"), true, true},
		{"a prefix", 1000, 0, invalidate.Prefix(cache.DefaultTenant, "other"), false, false},
		{"at the limit, the last tag", limit, 0, tag("tag255"), false, true},
		{"at the limit, another tag", limit, 0, tag("unknown"), false, false},
		{"at the limit, another tag expires", limit, 0, tag("unknown"), true, false},
		{"a part", 0, 5000, keyScope(t, 4999), false, true},
		{"another key", 0, 5000, keyScope(t, 9999), false, true},
		{"a prefix of others", 0, 5000, invalidate.Prefix("acme", "x:"), false, true},
		{"a tag, beyond the limit of parts", 0, 5000, tag("x"), false, false},
		{"a part within the limit", 0, 4000, keyScope(t, 3999), false, true},
		{"another key, within the limit", 0, 4000, keyScope(t, 9999), false, false},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{LoadMany: (&source{}).loadMany, MaxBatch: 5000}, asIs)
			var loads atomic.Int64
			var values, outer [2]things
			for i := range values {
				values[i] = built(t, w.tiers[i], "values", notKept, func(ctx context.Context, _ int) (string, error) {
					cache.Depend(ctx, tagNames(tt.tags)...)
					_, err := w.c[i].GetMany(ctx, ints(0, tt.parts))
					return fmt.Sprint(loads.Add(1)), err
				})
				outer[i] = built(t, w.tiers[i], "outer", notKept, func(ctx context.Context, k int) (string, error) {
					cache.Depend(ctx, "own")
					return values[i].Get(ctx, k)
				})
			}
			get(t, values[0], 1)
			get(t, outer[0], 1)
			do := w.tiers[0].Invalidate
			if tt.soft {
				do = w.tiers[0].Expire
			}
			must(t, do(t.Context(), tt.scope))
			advance(bound)
			want := map[bool]string{false: "1", true: "2"}[tt.dies]
			for i, c := range []things{outer[0], values[0], values[1], outer[1]} { // process 1 has only the cells
				equal(t, get(t, c, 1), want, "cache %d serves", i)
			}
		})
	}
}

// A load that looks at its own old value does not become its own part.
func TestOwnValueIsNoPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := tiertest.NewMemory()
		var c things
		c = with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{Load: func(ctx context.Context, k int) (string, error) {
			old, _ := c.Peek(ctx, k)
			return old + "x", nil
		}})
		for range 3 {
			must(t, c.Refresh(t.Context(), 1))
		}
		cell := cellAt(t, mem, cell1)
		if len(cell.PartKeys)+len(cell.PartPrefixes) > 0 || !strings.HasPrefix(string(cell.Payload), `"x`) {
			t.Errorf("cell %+v: want no parts", cell)
		}
	})
}

// A part whose read gave nothing, because the loader's own context had ended or the cache was off,
// is a part all the same: the loader may have made something of its absence. The control reads with
// a context that belongs to no load.
func TestReadsWithoutAnAnswerAreParts(t *testing.T) {
	over := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	for _, way := range ways {
		for name, want := range map[string]int{"ended": 2, "off": 2, "control": 1} {
			bubble(t, way.name+", "+name, func(t *testing.T) {
				tiers := open(t, cache.TiersConfig{})
				off := name == "off"
				parts := with(t, tiers, thingConfig{Namespace: "parts:v1", Policy: patch{Off: &off}, Load: new(source).load})
				builds := 0
				pages := with(t, tiers, thingConfig{Namespace: "pages", Load: func(ctx context.Context, _ int) (string, error) {
					builds++
					switch name {
					case "ended":
						ctx = over(ctx)
					case "control":
						ctx = over(context.Background())
					}
					if v, err := way.read(ctx, parts, 12); name != "off" && err == nil {
						t.Errorf("the read of the part: %q, want an error", v)
					}
					return "without the part", nil
				}})
				get(t, pages, 1)
				must(t, parts.Delete(t.Context(), 12))
				if get(t, pages, 1); builds != want {
					t.Errorf("after the Delete of the part the page was built %d times, want %d", builds, want)
				}
			})
		}
	}
}

// After an invalidation, a built value is served no longer than its parts: for one bound, at any
// depth. While the lease holds, it lives as long as its policy allows.
func TestBuiltValuesKeepTheBound(t *testing.T) {
	kinds := map[string]tower{"no tags": {}, "no remote tier": {}, "LoadMany": {many: true}, "two Tiers": {apart: true}, "GetMany LoadMany": {many: true, by: readBelow(ways[3])}}
	for _, way := range ways {
		kinds[way.name] = tower{by: readBelow(way)}
	}
	for name, levels := range kinds {
		cfg, as := thingConfig{Tags: tagT}, asIs
		switch name {
		case "no tags":
			cfg.Tags = nil
		case "no remote tier":
			as = noRemote
		}
		if levels.by == nil {
			levels.by = readBelow(ways[0])
		}
		for levels.depth = range 4 {
			bubble(t, fmt.Sprintf("%s, depth %d", name, levels.depth), func(t *testing.T) {
				w := newDuo(t, logged, cache.TiersConfig{}, cfg, as)
				w.src.fixed = "old"
				cs := levels.build(t, w, 1)
				get(t, cs[0], 1)
				advance(bound)
				get(t, cs[0], 1) // it is valid by the lease alone
				w.link[1].Fail(errDown)
				w.change(t)
				climb(t, cs)
			})
		}
	}
	bubble(t, "with a lease", func(t *testing.T) {
		w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{}, noRemote)
		w.src.fixed = "old"
		cs := tower{depth: 2, by: readBelow(ways[0])}.build(t, w, 1)
		for range 20 {
			equal(t, get(t, cs[2], 1), "old", "the value")
			advance(bound)
		}
		equal(t, total(w.tiers[1]).Loads.Calls, 3, "loads")
		w.change(t)
		advance(time.Millisecond)
		for i, c := range cs {
			equal(t, get(t, c, 1), "new", "level %d after the record arrived", i)
		}
	})
}

// climb reads the levels until no old value can be left. It starts to read each level most of a bound after
// the level below. No level may serve the old value later than a bound from now.
func climb(t *testing.T, levels []things) {
	t.Helper()
	const step, pace = bound / 40, bound * 9 / 10
	for begun := time.Now(); time.Since(begun) < bound*time.Duration(len(levels)+1); advance(step) {
		for i, c := range levels[:min(len(levels), 1+int(time.Since(begun)/pace))] {
			if d := time.Since(begun); get(t, c, 1) == "old" && d > bound {
				t.Errorf("level %d serves the old value %v after the invalidation, want at most %v", i, d, bound)
			}
		}
	}
}

// When Settle returns, built values are gone, too.
func TestSettleHoldsForBuiltValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{Tags: tagT}, noRemote)
		w.src.fixed = "old"
		cs := tower{depth: 2, by: readBelow(ways[0])}.build(t, w, 1)
		get(t, cs[0], 1)
		advance(bound)
		for w.tiers[1].Stats().Log.LeaseAge > bound/10 { // so that the lease lasts while the levels are built
			advance(bound / 100)
		}
		w.link[1].Hang(true)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.change(t)
			must(t, w.tiers[0].Settle(t.Context()))
		}()
		for _, c := range cs[1:] { // each level is built while the call waits
			advance(bound * 4 / 10)
			equal(t, get(t, c, 1), "old", "a level that is built meanwhile")
		}
		<-done
		for i := range cs {
			equal(t, get(t, cs[len(cs)-1-i], 1), "new", "after Settle level %d", len(cs)-1-i)
		}
	})
}

// A load may join the flight that loads one of its parts.
func TestBuiltFromJoinedFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{}, noRemote)
		w.src.fixed = "old"
		cs := tower{depth: 2, by: func(ctx context.Context, below things, k int) (string, error) {
			go func() { _, _ = below.Get(t.Context(), k) }()
			_ = nap(ctx, time.Millisecond)
			v, err := below.Get(ctx, k)
			return v, errors.Join(err, nap(ctx, time.Millisecond)) // the flight that the level above joins
		}}.build(t, w, 1)
		get(t, cs[0], 1)
		advance(bound)
		w.link[1].Fail(errDown)
		at := time.Now()
		w.change(t)
		advance(bound * 7 / 10) // the lease was renewed at most a quarter of a bound before the failure
		equal(t, get(t, cs[2], 1), "old", "within the bound the page is")
		equal(t, total(w.tiers[1]).Reads.Merged > 0, true, "a load joined a flight")
		advance(bound - time.Since(at))
		equal(t, get(t, cs[2], 1), "new", "a bound after the invalidation the page is")
	})
}

// A value that was built from one of other Tiers has the key of its part. Without a log that both share,
// it ends by an invalidation of that key by its own Tiers.
func TestPartsOfOtherTiers(t *testing.T) {
	for name, logs := range map[string]bool{"no log": false, "two logs": true} {
		bubble(t, name, func(t *testing.T) {
			process := func() *cache.Tiers {
				var tc cache.TiersConfig
				if logs {
					tc.Log = logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
				}
				tiers := open(t, tc)
				must(t, tiers.Ready(t.Context()))
				return tiers
			}
			src, inside, around := &source{}, process(), process()
			inner := with(t, inside, thingConfig{Load: src.load})
			outer := with(t, around, thingConfig{Namespace: "outer", Load: inner.Get})
			equal(t, get(t, outer, 1), "1.1", "the first Get")
			succeeds(t, inner.Delete(t.Context(), 1))
			succeeds(t, around.Invalidate(t.Context(), inner.Key(1)))
			equal(t, get(t, outer, 1), "1.2", "Get after the invalidation by both")
		})
	}
}
