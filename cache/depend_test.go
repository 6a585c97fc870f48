package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A value that is built from an inner one inherits its tags, whichever call read the inner one.
// Invalidating the inner value's tag also invalidates the outer value.
func TestOuterInheritsTags(t *testing.T) {
	many := func(ctx context.Context, c things) error { _, err := c.GetMany(ctx, []int{1, 2}); return err }
	one := func(ctx context.Context, c things) error { _, err := c.Get(ctx, 1); return err }
	for _, tt := range []struct {
		name  string
		read  func(ctx context.Context, inner things) error
		warm  bool // the inner value is a hit: local, or remote if other is set
		other bool // warmed by another process
		stale bool
	}{
		{name: "Get, load", read: one},
		{name: "Get, local hit", read: one, warm: true},
		{name: "Get, remote hit", read: one, warm: true, other: true},
		{name: "Get, stale hit", read: one, warm: true, stale: true},
		{name: "GetMany, load", read: many},
		{name: "GetMany, local hit", read: many, warm: true},
		{name: "GetMany, remote hit", read: many, warm: true, other: true},
		{name: "Fetch", read: func(ctx context.Context, c things) error { _, err := c.Fetch(ctx, 1, nil); return err }, warm: true},
		{name: "GetOrLoad", read: func(ctx context.Context, c things) error {
			_, err := c.GetOrLoad(ctx, 1, nil)
			return err
		}, warm: true},
		{name: "Peek", read: func(ctx context.Context, c things) error { c.Peek(ctx, 1); return nil }, warm: true},
		{name: "Peek, remote hit", read: func(ctx context.Context, c things) error { c.Peek(ctx, 1); return nil }, warm: true, other: true},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			mem := tiertest.NewMemory()
			src := &source{}
			innerOn := func(tiers *cache.Tiers) things {
				return with(t, tiers, thingConfig{Namespace: "inner", Load: src.load, Policy: swr, Tags: tagT})
			}
			tiers := open(t, cache.TiersConfig{Remote: mem})
			inner := innerOn(tiers)
			// Two levels: the loader of outer does not read inner itself.
			middle := with(t, tiers, thingConfig{Namespace: "middle", Load: func(ctx context.Context, _ int) (string, error) {
				return "middle", tt.read(ctx, inner)
			}})
			n := 0
			outer := with(t, tiers, thingConfig{Namespace: "outer", Load: func(ctx context.Context, _ int) (string, error) {
				n++
				_, err := middle.Get(ctx, 5)
				return fmt.Sprint("outer ", n), err
			}})
			if tt.warm {
				warm := inner
				if tt.other {
					warm = innerOn(open(t, cache.TiersConfig{Remote: mem}))
				}
				if _, err := warm.GetMany(t.Context(), []int{1, 2}); err != nil {
					t.Error(err)
				}
				advance(time.Millisecond)
			}
			if tt.stale {
				advance(20 * time.Second)
			}
			get(t, outer, 9)
			synctest.Wait()
			wantFetch(t, outer, 9, fetched{"outer 1", cache.Local, false, nil})
			invalidateTag(t, tiers, "unrelated")
			succeeds(t, tiers.Invalidate(t.Context(), invalidate.Tag("another", "t")))
			wantFetch(t, outer, 9, fetched{"outer 1", cache.Local, false, nil})
			invalidateTag(t, tiers, "t")
			wantFetch(t, outer, 9, fetched{"outer 2", cache.Load, false, nil})
		})
	}
}

func TestTagLimits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		own    []string // by Config.Tags
		option []string
		depend []string
		stored bool
		many   bool
	}{
		{name: "256", depend: tagNames(256), stored: true},
		{name: "256 in three ways, repeated", own: tagNames(40), option: tagNames(256), depend: tagNames(20), stored: true},
		{name: "257", depend: tagNames(257), stored: true, many: true},
		{name: "257 in three ways", own: tagNames(252), option: []string{"x", "y"}, depend: []string{"u", "v", "w"}, stored: true, many: true},
		{name: "a thousand", depend: tagNames(1000), stored: true, many: true},
		{name: "empty tag", depend: []string{""}},
		{name: "over-long tag", own: []string{strings.Repeat("x", invalidate.MaxTagLen+1)}},
		{name: "longest tag", own: []string{strings.Repeat("x", invalidate.MaxTagLen)}, stored: true},
		{name: "not UTF-8", depend: []string{"\xff"}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			mem := tiertest.NewMemory()
			tiers := open(t, cache.TiersConfig{Remote: mem})
			c := with(t, tiers, thingConfig{Tags: func(int, string) []string { return tt.own }})
			load := func(ctx context.Context, _ int) (string, error) { cache.Depend(ctx, tt.depend...); return "v", nil }
			v, err := c.GetOrLoad(t.Context(), 1, load, cache.Tags(tt.option...))
			if v != "v" || err != nil {
				t.Errorf("GetOrLoad = %q, %v: want the value despite the tags", v, err)
			}
			_, local := c.Peek(t.Context(), 1)
			if local != tt.stored || (mem.Len() == 1) != tt.stored {
				t.Errorf("stored here: %v, cells: %d, want %v", local, mem.Len(), tt.stored)
			}
			if n := total(tiers).FillsBadTags; (n == 0) != tt.stored {
				t.Errorf("FillsBadTags = %d", n)
			}
			// Set returns the error.
			err = c.Set(t.Context(), 2, "v", cache.Tags(append(tt.option, tt.depend...)...))
			if (err == nil) != tt.stored {
				t.Errorf("Set: %v", err)
			}
			if err != nil && !errors.Is(err, invalidate.ErrScope) {
				t.Errorf("Set: %v, want ErrScope", err)
			}
			if n := total(tiers).FillsManyTags; (n > 0) != tt.many {
				t.Errorf("FillsManyTags = %d, want any: %v", n, tt.many)
			}
		})
	}
}

func tagNames(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("tag", i)
	}
	return out
}

// A value with more tags than a cell can hold is invalidated by each of them. This holds in the
// process that loaded it, in one that reads its cell, and for values built from it. Any other
// tag also invalidates it. A value with as many tags as a cell can hold is not invalidated by
// other tags.
func TestTagsBeyondTheLimit(t *testing.T) {
	const limit = 256
	for _, tt := range []struct {
		name string
		tags int
		tag  invalidate.Scope
		soft bool
		dies bool
	}{
		{"the first tag", 1000, invalidate.Tag(cache.DefaultTenant, "tag0"), false, true},
		{"a tag behind the limit", 1000, invalidate.Tag(cache.DefaultTenant, "tag999"), false, true},
		{"the first one behind the limit", limit + 1, invalidate.Tag(cache.DefaultTenant, "tag256"), false, true},
		{"the one that made room", limit + 1, invalidate.Tag(cache.DefaultTenant, "tag255"), false, true},
		{"another tag", limit + 1, invalidate.Tag(cache.DefaultTenant, "unknown"), false, true},
		{"another tenant's tag", limit + 1, invalidate.Tag("acme", "tag0"), false, true},
		{"a tag that expires", 1000, invalidate.Tag(cache.DefaultTenant, "tag999"), true, true},
		{"a prefix", 1000, invalidate.Prefix(cache.DefaultTenant, "other"), false, false},
		{"at the limit, the last tag", limit, invalidate.Tag(cache.DefaultTenant, "tag255"), false, true},
		{"at the limit, another tag", limit, invalidate.Tag(cache.DefaultTenant, "unknown"), false, false},
		{"at the limit, another tag expires", limit, invalidate.Tag(cache.DefaultTenant, "unknown"), true, false},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			src := &source{}
			log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
			ts, cs := fleet(t, 3, tiertest.NewMemory(), cache.TiersConfig{Log: log}, thingConfig{
				Load: func(ctx context.Context, k int) (string, error) {
					cache.Depend(ctx, tagNames(tt.tags)...)
					return src.load(ctx, k)
				},
			})
			outer := with(t, ts[1], thingConfig{Namespace: "outer", Load: func(ctx context.Context, k int) (string, error) {
				cache.Depend(ctx, "own")
				return cs[1].Get(ctx, k)
			}})
			synctest.Wait()
			get(t, cs[0], 1)
			get(t, outer, 1)
			src.wantLoads(t, 1)
			invalidateBy := ts[0].Invalidate
			if tt.soft {
				invalidateBy = ts[0].Expire
			}
			must(t, invalidateBy(t.Context(), tt.tag))
			advance(bound)
			want := "1.1"
			if tt.dies {
				want = "1.2"
			}
			if got := get(t, outer, 1); got != want {
				t.Errorf("the built value is %q, want %q", got, want)
			}
			for i := range cs { // the last process has only the cell
				if got := get(t, cs[i], 1); got != want {
					t.Errorf("process %d: %q, want %q", i, got, want)
				}
			}
		})
	}
}

// A Hold of any tag prevents caching of a value with too many tags.
func TestManyTagsAreHeld(t *testing.T) {
	for tags, stored := range map[int]bool{256: true, 257: false} {
		bubble(t, fmt.Sprint(tags), func(t *testing.T) {
			tiers := open(t, cache.TiersConfig{})
			c := with(t, tiers, thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
				cache.Depend(ctx, tagNames(tags)...)
				return "v", nil
			}})
			hold := invalidate.Hold(time.Minute)
			must(t, tiers.Invalidate(t.Context(), invalidate.Tag(cache.DefaultTenant, "unknown"), hold))
			get(t, c, 1)
			if _, ok := c.Peek(t.Context(), 1); ok != stored {
				t.Errorf("stored: %v, want %v", ok, stored)
			}
			advance(time.Minute)
			get(t, c, 1)
			if _, ok := c.Peek(t.Context(), 1); !ok {
				t.Error("not stored after the hold")
			}
		})
	}
}

// An unchanged value gets one tag more than a cell can hold. This does not change the tags of
// the entry that it replaces, which readers may still use.
func TestManyTagsOfAValueThatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var entries []cache.Entry
		tiers := open(t, cache.TiersConfig{OnStored: func(e cache.Entry) { entries = append(entries, e) }})
		c := with(t, tiers, thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
			if _, ok := cache.Previous[string](ctx); ok {
				cache.Depend(ctx, "one too many")
				return "", cache.ErrNotModified
			}
			cache.Depend(ctx, tagNames(256)...)
			return "v", nil
		}})
		get(t, c, 1)
		must(t, c.Refresh(t.Context(), 1))
		if len(entries) != 2 {
			t.Fatalf("%d entries, want 2", len(entries))
		}
		for i, want := range []string{"default:tag255", ""} {
			var last string
			n, most := 0, false
			for hash, text := range entries[i].Tags() {
				n, last, most = n+1, text, most || hash == invalidate.AnyTag
			}
			if n != 256 || last != want || most != (i == 1) {
				t.Errorf("entry %d: %d tags, the last %q, AnyTag among them: %v", i, n, last, most)
			}
		}
	})
}
