package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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

// A Hold of any tag prevents caching of a value with too many tags.
func TestManyTagsAreHeld(t *testing.T) {
	for tags, found := range map[int]string{256: "v", 257: "nothing"} {
		play(t, scene{name: fmt.Sprint(tags), cfg: thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
			cache.Depend(ctx, tagNames(tags)...)
			return "v", nil
		}, Tags: func(int, string) []string { return nil }}, steps: `
			a invalidates another-tag hold=1m; a gets v; a peeks ` + found + `; wait 1m; a gets v; a peeks v`})
	}
}
