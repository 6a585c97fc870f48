package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

type (
	lists      = cache.Cache[int, []string]
	listConfig = cache.Config[int, []string]
)

// shelf is a source of lists. They are empty unless it is full.
type shelf struct {
	took  time.Duration
	full  atomic.Bool
	loads atomic.Int64
	err   atomic.Pointer[error]
}

func (s *shelf) load(ctx context.Context, k int) ([]string, error) {
	n := s.loads.Add(1)
	if err := s.err.Load(); err != nil {
		return nil, *err
	}
	if s.full.Load() {
		return []string{fmt.Sprintf("%d.%d", k, n)}, nap(ctx, s.took)
	}
	return []string{}, nap(ctx, s.took)
}

func noElements(v []string) bool { return len(v) == 0 }

// wantList checks that Fetch returns a list of n elements, without an error and not as an absence.
func wantList(t *testing.T, c lists, k, n int, src cache.Source, opts ...cache.Option) {
	t.Helper()
	r, err := c.Fetch(t.Context(), k, nil, opts...)
	if err != nil || r.Value == nil || len(r.Value) != n || r.Source != src || r.Negative || r.Stale {
		t.Errorf("Fetch(%d) = %+v, %v, want a list of %d from %v", k, r, err, n, src)
	}
}

// An empty value lives for NegativeTTL in every process, and is no error. What is not empty lives
// for TTL.
func TestEmptyLivesAsAnAbsence(t *testing.T) {
	empty := func(v string) bool { return v == "" }
	for name, tt := range map[string]struct {
		cfg        thingConfig
		own        patch
		opts       string
		life, full time.Duration // of the empty value, and of the other
	}{
		"without Empty":            {life: time.Minute, full: time.Minute},
		"default":                  {cfg: thingConfig{Empty: empty}, life: 3 * time.Second, full: time.Minute},
		"policy":                   {cfg: thingConfig{Empty: empty, Policy: patch{NegativeTTL: new(5 * time.Second)}}, life: 5 * time.Second, full: time.Minute},
		"the option TTL":           {cfg: thingConfig{Empty: empty}, opts: "TTL=1h", life: 3 * time.Second, full: time.Hour},
		"the option With":          {cfg: thingConfig{Empty: empty}, opts: "own", own: patch{NegativeTTL: new(time.Second)}, life: time.Second, full: time.Minute},
		"stale values are allowed": {cfg: thingConfig{Empty: empty, Policy: patch{StaleIfError: new(time.Hour)}}, life: 3 * time.Second, full: time.Minute},
	} {
		for value, steps := range map[string]string{"empty": "source empty; ", "!empty": ""} {
			life := tt.full
			if value == "empty" {
				life = tt.life
			}
			steps += "a gets VALUE load OPTS; a gets VALUE local OPTS; b gets VALUE remote OPTS; wait " + (life - 2*time.Millisecond).String() +
				"; a gets VALUE local; loads 1; source full; wait 2ms; b gets 1.2 load" // a frame's times are rounded down
			play(t, scene{name: name + " " + value, on: paired, cfg: tt.cfg, own: tt.own,
				steps: strings.NewReplacer("VALUE", value, "OPTS", tt.opts).Replace(steps)})
		}
	}
}

// A refresh may find that a list is empty now. That is stored like any value, and is itself never
// served stale: neither in place of a failed load, nor after an Expire, nor because its loader
// allows it. When it is over, no load gets it as Previous.
func TestEmptyIsNeverStale(t *testing.T) {
	for _, says := range []string{"", "stale=1h iferror=1h keep=1h"} {
		for ends, life := range map[string]time.Duration{"wait 10s": 10 * time.Second, "a expires; b expires": math.MaxInt64} {
			play(t, scene{name: ends + says, on: paired, cfg: thingConfig{Empty: func(v string) bool { return v == "" }, Policy: patch{
				NegativeTTL: &life, Stale: new(time.Hour), StaleIfError: new(time.Hour), Throttle: new(time.Duration(0)),
			}}, steps: `
				says ` + says + `; a gets 1.1; wait 1m; source empty; a gets 1.1 stale; a gets empty local; b gets empty remote
				` + ends + `; source fails; a gets failed; previous nothing; b gets failed; previous nothing`})
		}
	}
}

// Whichever call loads or sets the empty value.
func TestEmptyInEveryCall(t *testing.T) {
	for _, tt := range []struct {
		name string
		many bool
		do   func(ctx context.Context, c lists) error
		sets bool
	}{
		{name: "Get", do: func(ctx context.Context, c lists) error { _, err := c.Get(ctx, 1); return err }},
		{name: "GetMany", do: func(ctx context.Context, c lists) error {
			m, err := c.GetMany(ctx, []int{1})
			if v, ok := m[1]; !ok || v == nil {
				return errors.Join(err, errors.New("the empty value is not in the map"))
			}
			return err
		}},
		{name: "GetMany by LoadMany", many: true, do: func(ctx context.Context, c lists) error {
			m, err := c.GetMany(ctx, []int{1, -1})
			if v, ok := m[1]; !ok || v == nil || len(m) != 1 {
				return errors.Join(err, fmt.Errorf("the map is %v, want the empty value and not the absence", m))
			}
			return err
		}},
		{name: "Refresh", do: func(ctx context.Context, c lists) error { return c.Refresh(ctx, 1) }},
		{name: "Set", sets: true, do: func(ctx context.Context, c lists) error { return c.Set(ctx, 1, []string{}, cache.TTL(time.Hour)) }},
		{name: "SetMany", sets: true, do: func(ctx context.Context, c lists) error { return c.SetMany(ctx, map[int][]string{1: {}}) }},
	} {
		for _, remember := range []bool{true, false} {
			bubble(t, fmt.Sprintf("%s, remembered %v", tt.name, remember), func(t *testing.T) {
				src := &shelf{}
				cfg := listConfig{Namespace: "lists", Empty: noElements, Load: src.load}
				if !remember {
					cfg.Policy.NegativeTTL = new(time.Duration(0))
				}
				if tt.many {
					cfg.Load, cfg.LoadMany = nil, func(ctx context.Context, keys []int) (map[int][]string, error) {
						v, err := src.load(ctx, 1)
						return map[int][]string{1: v}, err
					}
				}
				mem := tiertest.NewMemory()
				c := with(t, open(t, cache.TiersConfig{Remote: mem}), cfg)
				must(t, tt.do(t.Context(), c))
				check := func(want bool) {
					t.Helper()
					v, ok := c.Peek(t.Context(), 1)
					raw, err := mem.Get(t.Context(), "default:lists:1")
					if ok != want || (raw != nil) != want || err != nil || ok && len(v) > 0 {
						t.Errorf("Peek = %v, %v; a cell: %v, %v; want an empty value: %v", v, ok, raw != nil, err, want)
					}
				}
				check(remember)
				advance(3*time.Second - 2*time.Millisecond)
				check(remember)
				advance(2 * time.Millisecond)
				check(false)
			})
		}
	}
}

// A value that was built from an empty one depends on it like on any other.
func TestEmptyIsAPart(t *testing.T) {
	play(t, scene{cfg: thingConfig{Empty: func(v string) bool { return v == "" }}, pages: &longLived, steps: `
		source empty; a page empty load; a page empty local; source full; a deletes; a page 1.2 load`})
}

// ErrNotModified confirms an empty value as one. A panic of Empty reaches the callers and leaves
// nothing locked.
func TestEmptyAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), listConfig{
			Namespace: "lists",
			Empty: func(v []string) bool {
				asked.Add(1)
				if slices.Contains(v, "bad") {
					panic("Empty")
				}
				return len(v) == 0
			},
			Load: func(ctx context.Context, k int) ([]string, error) {
				if _, ok := cache.Previous[[]string](ctx); ok {
					return nil, cache.ErrNotModified
				}
				if k == 2 {
					return []string{"bad"}, nil
				}
				return []string{}, nil
			},
		})
		wantList(t, c, 1, 0, cache.Load)
		must(t, c.Refresh(t.Context(), 1))
		wantList(t, c, 1, 0, cache.Local)
		equal(t, asked.Load(), 2, "calls of Empty")
		advance(3 * time.Second)
		if _, ok := c.Peek(t.Context(), 1); ok {
			t.Error("a confirmed empty value lives for more than NegativeTTL")
		}
		for range 2 {
			p, ok := panicOf(func() { _, _ = c.Get(t.Context(), 2) }).(*cache.PanicError)
			if !ok || p.Value != "Empty" {
				t.Errorf("Get panicked with %v, want the panic of Empty", p)
			}
		}
		equal(t, panicOf(func() { _ = c.Set(t.Context(), 2, []string{"bad"}) }), "Empty", "Set panicked with")
	})
}
