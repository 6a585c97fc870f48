package cache_test

import (
	"cmp"
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

// works holds what the processes of a test share, and how their caches are built on each other.
type works struct {
	version atomic.Int64 // of the source; 0: the part does not exist
	log     *logtest.Memory
	remote  tier.Remote
	depth   int // of the built values; 0 means 1
	policy  patch
	part    *patch // the policy of the parts, if it is another
	tags    bool   // parts and their absences have the tag t
	local   bool   // the parts are LocalOnly
	many    bool   // built values have LoadMany
	unmod   bool   // built values answer ErrNotModified when they are loaded again
	apart   bool   // odd levels are on other Tiers of the process
	read    func(ctx context.Context, below things) (string, error)
}

// tower is one process. Level 0, the parts, reads the source, and level i+1 is built from level i.
// All of them have the key 12.
type tower struct {
	tiers  *cache.Tiers
	link   *logtest.Faulty // to the log
	levels []things
}

func (w *tower) parts() things { return w.levels[0] }
func (w *tower) pages() things { return w.levels[len(w.levels)-1] }

var longLived = patch{TTL: new(time.Hour), NegativeTTL: new(time.Hour), Stale: new(time.Hour)}

func newWorks() *works {
	w := &works{
		log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound}), remote: tiertest.NewMemory(), depth: 1, policy: longLived, read: readPart,
	}
	w.version.Store(1)
	return w
}

func readPart(ctx context.Context, below things) (string, error) {
	v, err := below.Get(ctx, 12)
	if errors.Is(err, cache.ErrNotFound) {
		return "none", nil
	}
	return v, err
}

func (w *works) process(t *testing.T) *tower {
	p := &tower{link: logtest.NewFaulty(w.log)}
	cfg := cache.TiersConfig{Remote: w.remote, Log: p.link}
	p.tiers = open(t, cfg)
	tiers := [2]*cache.Tiers{p.tiers, p.tiers}
	if w.apart {
		advance(bound / 7) // the two Tiers count time from different moments
		tiers[1] = open(t, cfg)
	}
	parts := thingConfig{Namespace: "parts:v1", LocalOnly: w.local, Policy: *cmp.Or(w.part, &w.policy), Load: func(ctx context.Context, _ int) (string, error) {
		if v := w.version.Load(); v > 0 {
			return fmt.Sprint("v", v), nil
		}
		if w.tags {
			cache.Depend(ctx, "t")
		}
		return "", cache.ErrNotFound
	}}
	if w.tags {
		parts.Tags = tagT
	}
	p.levels = append(p.levels, with(t, tiers[0], parts))
	for i := range w.depth {
		below := p.levels[i]
		cfg := loading(func(ctx context.Context, _ int) (string, error) {
			if old, ok := cache.Previous[string](ctx); ok && w.unmod {
				return old, cache.ErrNotModified
			}
			return w.read(ctx, below)
		}, w.many)
		cfg.Namespace, cfg.Policy = fmt.Sprint("level", i+1), w.policy
		p.levels = append(p.levels, with(t, tiers[(i+1)%2], cfg))
	}
	synctest.Wait()
	return p
}

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
	type test struct {
		name  string
		set   func(w *works)
		part  string // where it is when the page is built: nowhere, "a hit", "a remote hit" or "a stale hit"
		none  bool   // the part does not exist at first
		bare  bool   // the read gives nothing that could have a tag
		after bool   // the page is refreshed
	}
	tests := []test{
		{name: "an absence", none: true},
		{name: "an absence that Peek finds", none: true, part: "a hit", set: func(w *works) {
			w.read = func(ctx context.Context, below things) (string, error) {
				if v, ok := below.Peek(ctx, 12); ok {
					return v, nil
				}
				return "none", nil
			}
		}},
		{name: "a failure that the loader answers", none: true, bare: true, set: func(w *works) {
			w.read = func(ctx context.Context, below things) (string, error) {
				if v, err := below.GetOrLoad(ctx, 12, func(context.Context, int) (string, error) { return "", errSource }); err == nil {
					return v, nil
				}
				return "none", nil
			}
		}},
		{name: "two levels", set: func(w *works) { w.depth = 2 }},
		{name: "two levels, a hit", set: func(w *works) { w.depth = 2 }, part: "a hit"},
		{name: "LoadMany", set: func(w *works) { w.many = true }},
		{name: "two levels, LoadMany", set: func(w *works) { w.depth, w.many = 2, true }},
		{name: "LocalOnly", set: func(w *works) { w.local = true }},
		{name: "other Tiers", set: func(w *works) { w.apart = true }},
		{name: "no remote tier", set: func(w *works) { w.remote = nil }},
		{name: "ErrNotModified", set: func(w *works) { w.unmod = true }, after: true},
	}
	for _, way := range ways {
		read := func(w *works) {
			w.read = func(ctx context.Context, below things) (string, error) {
				v, err := way.read(ctx, below, 12)
				if errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrNotFound) {
					return "none", nil
				}
				return v, err
			}
		}
		tests = append(tests, test{name: way.name, set: read, none: way.name == "Peek", bare: way.name == "Peek"})
		for _, part := range []string{"a hit", "a remote hit", "a stale hit"} {
			tests = append(tests, test{name: way.name + ", " + part, set: read, part: part}, test{name: way.name + ", an absence, " + part, set: read, part: part, none: true})
		}
	}
	for _, tt := range tests {
		for end, byTag := range map[string]bool{"key": false, "tag": true} {
			bubble(t, tt.name+", "+end, func(t *testing.T) {
				w := newWorks()
				if w.tags = byTag; tt.set != nil {
					tt.set(w)
				}
				want := "v1"
				if tt.none {
					w.version.Store(0)
					want = "none"
				}
				if tt.part == "a stale hit" {
					w.part = &patch{TTL: swr.TTL, Stale: swr.Stale, NegativeTTL: new(time.Hour)}
				}
				a, b := w.process(t), w.process(t)
				switch tt.part {
				case "a remote hit":
					_, _ = w.process(t).parts().Get(t.Context(), 12)
				case "a stale hit":
					_, _ = a.parts().Get(t.Context(), 12)
					advance(20 * time.Second)
				}
				for _, p := range []*tower{a, b} {
					if tt.part == "a hit" {
						_, _ = p.parts().Get(t.Context(), 12)
					}
					if got := get(t, p.pages(), 12); got != want {
						t.Fatalf("the page is %q, want %q", got, want)
					}
					if tt.after {
						must(t, p.pages().Refresh(t.Context(), 12))
					}
				}
				w.version.Store(2)
				w.unmod = false
				if byTag && !tt.bare {
					invalidateTag(t, a.tiers, "t")
				} else {
					must(t, a.parts().Set(t.Context(), 12, "v2"))
				}
				if w.apart {
					advance(bound) // the other Tiers learn of it from the log
				}
				_, _ = a.parts().Get(t.Context(), 12) // for Peek
				equal(t, get(t, a.pages(), 12), "v2", "here the page is")
				advance(bound)
				_, _ = b.parts().Get(t.Context(), 12)
				equal(t, get(t, b.pages(), 12), "v2", "elsewhere the page is")
			})
		}
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
		w := newWorks()
		loads := 0
		w.read = func(ctx context.Context, parts things) (string, error) {
			loads++
			m, err := parts.GetMany(ctx, ints(0, 300))
			return m[12], err
		}
		a, b := w.process(t), w.process(t)
		get(t, a.pages(), 12)
		otherDeletes(t, a.parts(), 300, 2000)
		advance(bound)
		for _, p := range []*tower{a, b} {
			if get(t, p.pages(), 12); loads != 1 {
				t.Errorf("the page was built %d times, want once", loads)
			}
		}
		must(t, a.parts().Delete(t.Context(), 299))
		if get(t, a.pages(), 12); loads != 2 {
			t.Errorf("after the Delete of a part the page was built %d times, want twice", loads)
		}
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

// read reads a level, through LoadMany where it has one.
func (w *tower) read(t *testing.T, level int) string {
	t.Helper()
	got, err := w.levels[level].GetMany(t.Context(), []int{12, 13})
	if err != nil || len(got) != 2 || got[12] != got[13] {
		t.Errorf("level %d: %v, %v", level, got, err)
	}
	return got[12]
}

// change writes to the source, and another process invalidates what was built from it.
func (w *works) change(t *testing.T, teller *tower, more ...invalidate.Scope) {
	t.Helper()
	w.version.Add(1)
	scopes := append(more, invalidate.Tag(cache.DefaultTenant, "t"), invalidate.Prefix("default", "parts:"))
	succeeds(t, teller.tiers.Invalidate(t.Context(), scopes...))
}

// climb reads the levels until no old value can be left. It starts to read each level pace after
// the level below. It returns, for each level, how long after since it served the last old
// value.
func (w *tower) climb(t *testing.T, since time.Time, pace time.Duration) []time.Duration {
	t.Helper()
	const step = bound / 40
	last := make([]time.Duration, len(w.levels))
	for begun := time.Now(); time.Since(begun) < bound*time.Duration(len(w.levels)+1); advance(step) {
		for i := range w.levels {
			if time.Since(begun) < time.Duration(i)*pace {
				break
			}
			if w.read(t, i) == "v1" {
				last[i] = time.Since(since)
			}
		}
	}
	return last
}

// After an invalidation, a built value is served no longer than its parts: for one bound, at any
// depth. While the lease holds, it lives as long as its policy allows.
func TestBuiltValuesKeepTheBound(t *testing.T) {
	kinds := map[string]func(w *works){
		"no tags":          func(w *works) { w.tags = false },
		"no remote tier":   func(w *works) { w.remote = nil },
		"LoadMany":         func(w *works) { w.many = true },
		"two Tiers":        func(w *works) { w.apart = true },
		"GetMany LoadMany": func(w *works) { w.many, w.read = true, partBy(ways[3]) },
	}
	for _, way := range ways {
		kinds[way.name] = func(w *works) { w.read = partBy(way) }
	}
	for name, set := range kinds {
		for depth := range 4 {
			bubble(t, fmt.Sprintf("%s, depth %d", name, depth), func(t *testing.T) {
				w := newWorks()
				w.depth, w.tags, w.policy = depth, true, patch{}
				set(w)
				teller, p := w.process(t), w.process(t)
				p.read(t, 0)
				advance(bound)
				p.read(t, 0) // it is valid by the lease alone
				p.link.Fail(errDown)
				at := time.Now()
				w.change(t, teller)
				for i, d := range p.climb(t, at, bound*9/10) {
					if d > bound {
						t.Errorf("level %d serves the old value for %v after the invalidation, want at most %v", i, d, bound)
					}
				}
			})
		}
	}
	bubble(t, "with a lease", func(t *testing.T) {
		w := newWorks()
		w.depth, w.policy, w.remote = 2, patch{}, nil
		teller, p := w.process(t), w.process(t)
		for range 20 {
			if got := p.read(t, 2); got != "v1" {
				t.Fatalf("Get = %q, want v1", got)
			}
			advance(bound)
		}
		equal(t, total(p.tiers).Loads, 4, "loads")
		w.change(t, teller)
		advance(time.Millisecond)
		for i := range p.levels {
			equal(t, p.read(t, i), "v2", "level %d after the record arrived", i)
		}
	})
}

// partBy returns a loader's way to read the level below. A Peek that finds nothing reads it.
func partBy(by way) func(context.Context, things) (string, error) {
	return func(ctx context.Context, below things) (string, error) {
		v, err := by.read(ctx, below, 12)
		if errors.Is(err, cache.ErrMiss) {
			return below.Get(ctx, 12)
		}
		return v, err
	}
}

// With Strict, built values are gone, too, when the call returns.
func TestStrictHoldsForBuiltValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks()
		w.depth, w.remote, w.policy = 2, nil, patch{}
		teller, p := w.process(t), w.process(t)
		p.read(t, 0)
		advance(bound)
		p.link.Hang(true)
		done := make(chan time.Time)
		go func() {
			w.change(t, teller, invalidate.Strict)
			done <- time.Now()
		}()
		for i := range w.depth { // each level is built while the call waits
			advance(bound * 4 / 10)
			p.read(t, i+1)
		}
		at := <-done
		for i, d := range p.climb(t, at, 0) {
			if d > 0 {
				t.Errorf("level %d serves the old value for %v after Strict returned", i, d)
			}
		}
	})
}

// A load may join the flight that loads one of its parts.
func TestBuiltFromJoinedFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks()
		w.depth, w.remote, w.policy = 2, nil, patch{}
		w.read = func(ctx context.Context, below things) (string, error) {
			go func() { _, _ = below.Get(t.Context(), 12) }()
			_ = nap(ctx, time.Millisecond)
			v, err := readPart(ctx, below)
			return v, errors.Join(err, nap(ctx, time.Millisecond)) // the flight that the level above joins
		}
		teller, p := w.process(t), w.process(t)
		get(t, p.parts(), 12)
		advance(bound)
		p.link.Fail(errDown)
		at := time.Now()
		w.change(t, teller)
		advance(bound * 7 / 10) // the lease was renewed at most a quarter of a bound before the failure
		equal(t, get(t, p.pages(), 12), "v1", "within the bound the page is")
		equal(t, total(p.tiers).Merged > 0, true, "a load joined a flight")
		advance(bound - time.Since(at))
		equal(t, get(t, p.pages(), 12), "v2", "a bound after the invalidation the page is")
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
