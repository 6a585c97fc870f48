package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func (s *shelf) wantLoads(t *testing.T, want int64) {
	t.Helper()
	if got := s.loads.Load(); got != want {
		t.Errorf("the source was called %d times, want %d", got, want)
	}
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
	for _, tt := range []struct {
		name string
		cfg  listConfig
		opts []cache.Option
		life time.Duration // of the empty value
		full time.Duration // of the other
	}{
		{name: "without Empty", life: time.Minute, full: time.Minute},
		{name: "default", cfg: listConfig{Empty: noElements}, life: 3 * time.Second, full: time.Minute},
		{name: "policy", cfg: listConfig{Empty: noElements, Policy: patch{NegativeTTL: new(5 * time.Second)}}, life: 5 * time.Second, full: time.Minute},
		{
			name: "the option TTL", cfg: listConfig{Empty: noElements}, opts: []cache.Option{cache.TTL(time.Hour)},
			life: 3 * time.Second, full: time.Hour,
		},
		{
			name: "the option With", cfg: listConfig{Empty: noElements}, opts: []cache.Option{cache.With(patch{NegativeTTL: new(time.Second)})},
			life: time.Second, full: time.Minute,
		},
		{
			name: "stale values are allowed", life: 3 * time.Second, full: time.Minute,
			cfg: listConfig{Empty: noElements, Policy: patch{StaleIfError: new(time.Hour)}},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			src := &shelf{}
			mem := tiertest.NewMemory()
			tt.cfg.Load, tt.cfg.Namespace = src.load, "lists"
			c, other := with(t, open(t, cache.TiersConfig{Remote: mem}), tt.cfg), with(t, open(t, cache.TiersConfig{Remote: mem}), tt.cfg)
			for _, life := range []time.Duration{tt.life, tt.full} {
				n, before := 0, src.loads.Load()
				if src.full.Load() {
					n = 1
				}
				wantList(t, c, 1, n, cache.Load, tt.opts...)
				wantList(t, c, 1, n, cache.Local, tt.opts...)
				wantList(t, other, 1, n, cache.Remote, tt.opts...)
				advance(life - 2*time.Millisecond) // a frame's times are rounded down
				wantList(t, c, 1, n, cache.Local)
				src.wantLoads(t, before+1)
				src.full.Store(true)
				advance(2 * time.Millisecond)
				wantList(t, other, 1, 1, cache.Load)
				must(t, other.Delete(t.Context(), 1))
				advance(life)
			}
		})
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
						m := map[int][]string{}
						for _, k := range keys {
							if v, err := src.load(ctx, k); err == nil && k > 0 {
								m[k] = v
							}
						}
						return m, nil
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

// A refresh may find that a list is empty now. That is stored like any value, and is itself never
// served stale: neither in place of a failed load, nor after an Expire, nor because its loader
// allows it.
func TestEmptyIsNeverStale(t *testing.T) {
	for _, never := range []time.Duration{10 * time.Second, time.Duration(1<<63 - 1)} {
		for _, allows := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%v, the loader allows it: %v", never, allows), func(t *testing.T) {
				src := &shelf{}
				src.full.Store(true)
				mem := tiertest.NewMemory()
				cfg := listConfig{Namespace: "lists", Empty: noElements, Policy: patch{
					NegativeTTL: &never, Stale: new(time.Hour), StaleIfError: new(time.Hour), Throttle: new(time.Duration(0)),
				}, Load: func(ctx context.Context, k int) ([]string, error) {
					if allows {
						cache.Filling(ctx).SetStale(time.Hour)
						cache.Filling(ctx).SetStaleIfError(time.Hour)
						cache.Filling(ctx).SetKeep(time.Hour)
					}
					if old, ok := cache.Previous[[]string](ctx); ok && len(old) == 0 {
						t.Error("an empty value that is over is kept for its load")
					}
					return src.load(ctx, k)
				}}
				c, other := with(t, open(t, cache.TiersConfig{Remote: mem}), cfg), with(t, open(t, cache.TiersConfig{Remote: mem}), cfg)
				wantList(t, c, 1, 1, cache.Load)
				advance(time.Minute)
				src.full.Store(false)
				if v := get(t, c, 1); len(v) != 1 {
					t.Errorf("Get = %v, want the stale list", v)
				}
				synctest.Wait()
				wantList(t, c, 1, 0, cache.Local)
				wantList(t, other, 1, 0, cache.Remote)
				if never > time.Hour {
					must(t, c.Expire(t.Context(), 1))
					must(t, other.Expire(t.Context(), 1))
				} else {
					advance(never)
				}
				down := errSource
				src.err.Store(&down)
				for _, c := range []lists{c, other} {
					if r, err := c.Fetch(t.Context(), 1, nil); !errors.Is(err, errSource) {
						t.Errorf("Fetch = %+v, %v, want the source's error", r, err)
					}
				}
			})
		}
	}
}

// A value that was built from an empty one depends on it like on any other.
func TestEmptyIsAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &shelf{}
		tiers := open(t, cache.TiersConfig{})
		parts := with(t, tiers, listConfig{Namespace: "lists", Empty: noElements, Load: src.load})
		pages := with(t, tiers, thingConfig{Namespace: "pages", Load: func(ctx context.Context, _ int) (string, error) {
			v, err := parts.Get(ctx, 1)
			return fmt.Sprint(len(v)), err
		}})
		for range 2 {
			if v := get(t, pages, 1); v != "0" {
				t.Errorf("the page shows %s elements, want 0", v)
			}
		}
		src.full.Store(true)
		must(t, parts.Delete(t.Context(), 1))
		if v := get(t, pages, 1); v != "1" {
			t.Errorf("the page shows %s elements, want 1", v)
		}
	})
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
		if n := asked.Load(); n != 2 {
			t.Errorf("Empty was called %d times, want 2", n)
		}
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
		if p := panicOf(func() { _ = c.Set(t.Context(), 2, []string{"bad"}) }); p != "Empty" {
			t.Errorf("Set panicked with %v, want the panic of Empty", p)
		}
	})
}
