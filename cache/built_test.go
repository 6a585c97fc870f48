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
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// builder is one process: parts, and pages that are built from them. No tag names the parts.
type builder struct {
	tiers  *cache.Tiers
	parts  things
	middle things
	pages  things
}

// works holds the processes of a test, their source and their log.
type works struct {
	version atomic.Int64 // of the source; 0: the part does not exist
	log     *logtest.Memory
	remote  tier.Remote
	local   bool // the parts are LocalOnly
	levels  bool // pages are built from middle, which is built from parts
	many    bool // pages have LoadMany
	unmod   bool // pages answer ErrNotModified when they are loaded again
	other   bool // parts are on other Tiers of the process
	read    func(ctx context.Context, parts things) (string, error)
}

func readPart(ctx context.Context, parts things) (string, error) {
	v, err := parts.Get(ctx, 12)
	if errors.Is(err, cache.ErrNotFound) {
		return "none", nil
	}
	return v, err
}

func (w *works) process(t *testing.T) *builder {
	cfg := cache.TiersConfig{Remote: w.remote}
	if w.log != nil {
		cfg.Log = w.log
	}
	b := &builder{tiers: open(t, cfg)}
	inner := b.tiers
	if w.other {
		inner = open(t, cfg)
	}
	long := patch{TTL: new(time.Hour), NegativeTTL: new(time.Hour), Stale: new(time.Hour)}
	b.parts = with(t, inner, thingConfig{Namespace: "parts:v1", LocalOnly: w.local, Policy: long,
		Load: func(context.Context, int) (string, error) {
			if v := w.version.Load(); v > 0 {
				return fmt.Sprint("v", v), nil
			}
			return "", cache.ErrNotFound
		}})
	b.middle = with(t, b.tiers, thingConfig{Namespace: "middle", Policy: long, Load: func(ctx context.Context, _ int) (string, error) {
		return w.read(ctx, b.parts)
	}})
	from := func(ctx context.Context) (string, error) {
		if w.levels {
			return b.middle.Get(ctx, 1)
		}
		return w.read(ctx, b.parts)
	}
	pages := thingConfig{Namespace: "pages", Policy: long, Load: func(ctx context.Context, _ int) (string, error) {
		if old, ok := cache.Previous[string](ctx); ok && w.unmod {
			return old, cache.ErrNotModified
		}
		return from(ctx)
	}}
	if w.many {
		pages.Load, pages.LoadMany = nil, func(ctx context.Context, keys []int) (map[int]string, error) {
			v, err := from(ctx)
			out := map[int]string{}
			for _, k := range keys {
				out[k] = v
			}
			return out, err
		}
	}
	b.pages = with(t, b.tiers, pages)
	return b
}

func newWorks() *works {
	w := &works{log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound}), remote: tiertest.NewMemory(), read: readPart}
	w.version.Store(1)
	return w
}

// An invalidation of a part ends what was built from it: in the process that calls, in one that
// has a copy, and in one that has only the frame. It does not matter which call invalidates.
func TestInvalidationsReachWhatWasBuilt(t *testing.T) {
	for _, tt := range []struct {
		name string
		soft bool
		keep bool // it does not cover the part
		do   func(ctx context.Context, b *builder) error
	}{
		{name: "Delete", do: func(ctx context.Context, b *builder) error { return b.parts.Delete(ctx, 12) }},
		{name: "Set", do: func(ctx context.Context, b *builder) error { return b.parts.Set(ctx, 12, "v2") }},
		{name: "SetMany", do: func(ctx context.Context, b *builder) error {
			return b.parts.SetMany(ctx, map[int]string{12: "v2", 3: "x"})
		}},
		{name: "DeleteMany", do: func(ctx context.Context, b *builder) error { return b.parts.DeleteMany(ctx, []int{3, 12}) }},
		{name: "DeleteAll", do: func(ctx context.Context, b *builder) error { return b.parts.DeleteAll(ctx) }},
		{name: "a prefix of the id", do: func(ctx context.Context, b *builder) error { return b.tiers.Invalidate(ctx, b.parts.Prefix("1")) }},
		{name: "a prefix of the namespace", do: func(ctx context.Context, b *builder) error {
			return b.tiers.Invalidate(ctx, invalidate.Prefix("default", "parts:"))
		}},
		{name: "a part of the namespace", do: func(ctx context.Context, b *builder) error {
			return b.tiers.Invalidate(ctx, invalidate.Prefix("default", "par"))
		}},
		{name: "Tenant", do: func(ctx context.Context, b *builder) error {
			return b.tiers.Invalidate(ctx, invalidate.Tenant("default"))
		}},
		{name: "Expire", soft: true, do: func(ctx context.Context, b *builder) error { return b.parts.Expire(ctx, 12) }},
		{name: "Expire of a prefix", soft: true, do: func(ctx context.Context, b *builder) error {
			return b.tiers.Expire(ctx, b.parts.Prefix("1"))
		}},
		{name: "Expire of the namespace", soft: true, do: func(ctx context.Context, b *builder) error { return b.tiers.Expire(ctx, b.parts.All()) }},
		{name: "another key", keep: true, do: func(ctx context.Context, b *builder) error { return b.parts.Delete(ctx, 1) }},
		{name: "another namespace", keep: true, do: func(ctx context.Context, b *builder) error { return b.middle.DeleteAll(ctx) }},
		{name: "another tenant", keep: true, do: func(ctx context.Context, b *builder) error {
			return b.tiers.Invalidate(ctx, invalidate.Tenant("acme"))
		}},
		{name: "Expire of another key", keep: true, do: func(ctx context.Context, b *builder) error { return b.parts.Expire(ctx, 1) }},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newWorks()
			a, b, c := w.process(t), w.process(t), w.process(t)
			synctest.Wait()
			for _, p := range []*builder{a, b} {
				if got := get(t, p.pages, 1); got != "v1" {
					t.Fatalf("the page is %q", got)
				}
			}
			w.version.Store(2)
			must(t, tt.do(t.Context(), a))
			check := func(name string, p *builder) {
				t.Helper()
				r, err := p.pages.Fetch(t.Context(), 1, nil)
				switch old := r.Value == "v1"; {
				case err != nil:
					t.Errorf("%s: %v", name, err)
				case tt.keep && (!old || r.Stale):
					t.Errorf("%s: page %q, stale %v; want what was cached", name, r.Value, r.Stale)
				case tt.soft && old && !r.Stale, !tt.keep && !tt.soft && old:
					t.Errorf("%s: page %q, stale %v", name, r.Value, r.Stale)
				}
			}
			if !tt.soft { // c has only the frame, which a refresh would replace
				check("here", a)
			}
			advance(bound)
			check("with the frame only", c)
			check("elsewhere", b)
			check("here, later", a)
			late := w.process(t)
			synctest.Wait()
			check("a process that started later", late)
		})
	}
}

// It does not matter how the loader read the part, or where the part was.
func TestWaysToReadAPart(t *testing.T) {
	option := func(read func(ctx context.Context, parts things) (string, error)) func(*works) {
		return func(w *works) { w.read = read }
	}
	for _, tt := range []struct {
		name  string
		set   func(w *works)
		warm  func(ctx context.Context, b *builder) // before the page is built
		after func(ctx context.Context, b *builder) // after it was built
		none  bool                                  // the part does not exist at first
	}{
		{name: "a load"},
		{name: "a hit", warm: func(ctx context.Context, b *builder) { _, _ = b.parts.Get(ctx, 12) }},
		{name: "GetMany", set: option(func(ctx context.Context, parts things) (string, error) {
			m, err := parts.GetMany(ctx, []int{3, 12})
			return m[12], err
		})},
		{name: "GetMany, a hit", set: option(func(ctx context.Context, parts things) (string, error) {
			m, err := parts.GetMany(ctx, []int{3, 12})
			return m[12], err
		}), warm: func(ctx context.Context, b *builder) { _, _ = b.parts.GetMany(ctx, []int{3, 12}) }},
		{name: "Peek", set: option(func(ctx context.Context, parts things) (string, error) {
			v, _ := parts.Peek(ctx, 12)
			return v, nil
		}), warm: func(ctx context.Context, b *builder) { _, _ = b.parts.Get(ctx, 12) }},
		{name: "Peek, nothing there", none: true, set: option(func(ctx context.Context, parts things) (string, error) {
			if v, ok := parts.Peek(ctx, 12); ok {
				return v, nil
			}
			return "none", nil
		})},
		{name: "Fetch", set: option(func(ctx context.Context, parts things) (string, error) {
			r, err := parts.Fetch(ctx, 12, nil)
			return r.Value, err
		})},
		{name: "an absence", none: true},
		{name: "an absence, a hit", none: true, warm: func(ctx context.Context, b *builder) { _, _ = b.parts.Get(ctx, 12) }},
		{name: "a failure that the loader answers", none: true, set: option(func(ctx context.Context, parts things) (string, error) {
			v, err := parts.GetOrLoad(ctx, 12, func(context.Context, int) (string, error) { return "", errSource })
			if err != nil {
				return "none", nil
			}
			return v, nil
		})},
		{name: "two levels", set: func(w *works) { w.levels = true }},
		{name: "two levels, a hit", set: func(w *works) { w.levels = true }, warm: func(ctx context.Context, b *builder) { _, _ = b.middle.Get(ctx, 1) }},
		{name: "LoadMany", set: func(w *works) { w.many = true }},
		{name: "two levels, LoadMany", set: func(w *works) { w.levels, w.many = true, true }},
		{name: "LocalOnly", set: func(w *works) { w.local = true }},
		{name: "other Tiers", set: func(w *works) { w.other = true }},
		{name: "no remote tier", set: func(w *works) { w.remote = nil }},
		{name: "ErrNotModified", set: func(w *works) { w.unmod = true }, after: func(ctx context.Context, b *builder) {
			_ = b.pages.Refresh(ctx, 1)
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newWorks()
			if tt.set != nil {
				tt.set(w)
			}
			want := "v1"
			if tt.none {
				w.version.Store(0)
				want = "none"
			}
			a, b := w.process(t), w.process(t)
			synctest.Wait()
			for _, p := range []*builder{a, b} {
				if tt.warm != nil {
					tt.warm(t.Context(), p)
				}
				if got := get(t, p.pages, 1); got != want {
					t.Fatalf("the page is %q, want %q", got, want)
				}
				if tt.after != nil {
					tt.after(t.Context(), p)
				}
			}
			w.version.Store(2)
			w.unmod = false
			must(t, a.parts.Set(t.Context(), 12, "v2"))
			if w.other {
				advance(bound) // the other Tiers learn of it from the log
			}
			if got := get(t, a.pages, 1); got != "v2" {
				t.Errorf("here the page is %q, want v2", got)
			}
			advance(bound)
			if got := get(t, b.pages, 1); got != "v2" {
				t.Errorf("elsewhere the page is %q, want v2", got)
			}
		})
	}
}

// An absence that Peek finds in the remote tier is a part, with its tags.
func TestPeekOfAnAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory(), Log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound})})
		long := patch{TTL: new(time.Hour), NegativeTTL: new(time.Hour)}
		parts := with(t, tiers, thingConfig{Namespace: "parts", Policy: long, Load: func(ctx context.Context, _ int) (string, error) {
			cache.Depend(ctx, "t")
			return "", cache.ErrNotFound
		}})
		pages := with(t, tiers, thingConfig{Namespace: "pages", Policy: long, Load: func(ctx context.Context, _ int) (string, error) {
			if _, ok := parts.Peek(ctx, 12); !ok {
				return "none", nil
			}
			return "some", nil
		}})
		synctest.Wait()
		if _, err := parts.Fetch(t.Context(), 12, nil, cache.SkipLocal()); !errors.Is(err, cache.ErrNotFound) {
			t.Fatal(err)
		}
		get(t, pages, 1)
		must(t, tiers.Invalidate(t.Context(), invalidate.Tag(cache.DefaultTenant, "t")))
		if r, err := pages.Fetch(t.Context(), 1, nil); err != nil || r.Source != cache.Load {
			t.Errorf("the page is of %v, %v; want it loaded again", r.Source, err)
		}
	})
}

// A process that cannot know whether a key fence covers a frame's parts refuses the frame. A frame
// without parts stays in use: the invalidation of its own key removed it.
func TestBuiltFramesAfterAGap(t *testing.T) {
	for _, tt := range []struct {
		name string
		tag  bool
	}{{name: "built"}, {name: "tagged", tag: true}} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newWorks()
			if tt.tag {
				w.read = func(ctx context.Context, _ things) (string, error) {
					cache.Depend(ctx, "t")
					return fmt.Sprint("v", w.version.Load()), nil
				}
			}
			a := w.process(t)
			synctest.Wait()
			get(t, a.pages, 1)
			w.version.Store(2)
			for k := range 3 {
				must(t, a.parts.Delete(t.Context(), 12+k))
			}
			w.log.Trim(1)
			late := w.process(t)
			advance(bound)
			want := map[bool]string{false: "v2", true: "v1"}[tt.tag]
			if got := get(t, late.pages, 1); got != want {
				t.Errorf("a process that missed the records serves %q, want %q", got, want)
			}
		})
	}
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
		synctest.Wait()
		get(t, a.pages, 1)
		for k := range 2000 {
			must(t, a.parts.Delete(t.Context(), 300+k))
		}
		advance(bound)
		get(t, a.pages, 1)
		get(t, b.pages, 1)
		if loads != 1 {
			t.Errorf("the page was built %d times, want once", loads)
		}
		must(t, a.parts.Delete(t.Context(), 299))
		get(t, a.pages, 1)
		if loads != 2 {
			t.Errorf("after the Delete of a part the page was built %d times, want twice", loads)
		}
	})
}

// A value with more parts than a cell can hold ends by every key and every prefix, and not by a
// tag.
func TestPartsBeyondTheLimit(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		of   invalidate.Scope
		dies bool
	}{
		{"a part", 5000, partScope(t, 4999), true},
		{"another key", 5000, partScope(t, 9999), true},
		{"a prefix of others", 5000, invalidate.Prefix("acme", "x:"), true},
		{"a tag", 5000, invalidate.Tag("default", "x"), false},
		{"a part within the limit", 4000, partScope(t, 3999), true},
		{"another key, within the limit", 4000, partScope(t, 9999), false},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newWorks()
			var loads atomic.Int64
			w.read = func(ctx context.Context, parts things) (string, error) {
				loads.Add(1)
				m, err := parts.GetMany(ctx, ints(0, tt.n))
				return m[12], err
			}
			a, b := w.process(t), w.process(t)
			synctest.Wait()
			get(t, a.pages, 1)
			must(t, a.tiers.Invalidate(t.Context(), tt.of))
			advance(bound)
			get(t, b.pages, 1) // it has only the frame
			get(t, a.pages, 1)
			if got, want := loads.Load(), map[bool]int64{false: 1, true: 2}[tt.dies]; got != want {
				t.Errorf("the page was built %d times, want %d", got, want)
			}
		})
	}
}

func partScope(t *testing.T, k int) invalidate.Scope {
	full, err := key.Space{Tenant: "default", Namespace: "parts:v1"}.Key(key.Int(int64(k)))
	must(t, err)
	return invalidate.Key(full)
}

// A load that looks at its own old value does not become its own part.
func TestOwnValueIsNoPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := tiertest.NewMemory()
		var c things
		c = with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{Load: func(ctx context.Context, k int) (string, error) {
			old, _ := c.Peek(ctx, k)
			return old + "x", nil
		}, Policy: patch{TTL: new(time.Hour)}})
		for range 3 {
			must(t, c.Refresh(t.Context(), 1))
		}
		raw, err := mem.Get(t.Context(), cell1)
		must(t, err)
		cell, err := tier.ParseCell(raw)
		if err != nil || len(cell.PartKeys)+len(cell.PartPrefixes) > 0 || !strings.HasPrefix(string(cell.Payload), `"x`) {
			t.Errorf("cell %+v, %v: want no parts", cell, err)
		}
	})
}

// A part whose read gave nothing, because the loader's own context had ended or the cache was off,
// is a part all the same: the loader may have made something of its absence.
func TestReadsWithoutAnAnswerAreParts(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	over := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	for _, tt := range []struct {
		name string
		off  bool
		read func(ctx context.Context, parts things) error
		want error
	}{
		{name: "Get", want: context.Canceled, read: func(ctx context.Context, parts things) error {
			_, err := parts.Get(over(ctx), 12)
			return err
		}},
		{name: "Fetch", want: context.Canceled, read: func(ctx context.Context, parts things) error {
			_, err := parts.Fetch(over(ctx), 12, nil)
			return err
		}},
		{name: "GetMany", want: context.Canceled, read: func(ctx context.Context, parts things) error {
			_, err := parts.GetMany(over(ctx), []int{3, 12})
			return err
		}},
		{name: "Peek of a cache that is off", off: true, read: func(ctx context.Context, parts things) error {
			_, _ = parts.Peek(ctx, 12)
			return nil
		}},
		{name: "Get outside of the load", want: context.Canceled, read: func(_ context.Context, parts things) error {
			_, err := parts.Get(ended, 12)
			return err
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			tiers := open(t, cache.TiersConfig{})
			parts := with(t, tiers, thingConfig{Namespace: "parts:v1", Policy: patch{Off: &tt.off}, Load: new(source).load})
			builds := 0
			pages := with(t, tiers, thingConfig{Namespace: "pages", Load: func(ctx context.Context, _ int) (string, error) {
				builds++
				if err := tt.read(ctx, parts); !errors.Is(err, tt.want) {
					t.Errorf("the read of the part: %v, want %v", err, tt.want)
				}
				return "without the part", nil
			}})
			get(t, pages, 1)
			want := 2
			if tt.name == "Get outside of the load" {
				want = 1 // the control: its context belongs to no load
			}
			must(t, parts.Delete(t.Context(), 12))
			get(t, pages, 1)
			if builds != want {
				t.Errorf("after the Delete of the part the page was built %d times, want %d", builds, want)
			}
		})
	}
}
