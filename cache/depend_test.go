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
	names := func(n int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprint("tag", i))
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		own    []string // by Config.Tags
		option []string
		depend []string
		stored bool
		many   bool
	}{
		{name: "256", depend: names(256), stored: true},
		{name: "256 in three ways, repeated", own: names(40), option: names(256), depend: names(20), stored: true},
		{name: "257", depend: names(257), stored: true, many: true},
		{name: "257 in three ways", own: names(252), option: []string{"x", "y"}, depend: []string{"u", "v", "w"}, stored: true, many: true},
		{name: "a thousand", depend: names(1000), stored: true, many: true},
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
