package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// After a load or Set, the next read is a local hit with that value.
func TestReadYourWrites(t *testing.T) {
	const keys = 10_000
	src := &source{}
	tiers := open(t, cache.TiersConfig{})
	c := with(t, tiers, thingConfig{Load: src.load})
	for k := range keys {
		want := fmt.Sprintf("%d.1", k)
		if k%2 == 0 {
			get(t, c, k)
		} else if err := c.Set(t.Context(), k, want); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Fetch(t.Context(), k, nil); r.Value != want || r.Source != cache.Local || err != nil {
			t.Fatalf("Fetch(%d) right after the write = %+v, %v", k, r, err)
		}
	}
	for k := range keys {
		get(t, c, k)
	}
	src.wantLoads(t, keys/2)
}

// The test writes ten times more keys than fit. Each write is readable at once, and the bytes
// stay within 105 % of the budget.
func TestBudget(t *testing.T) {
	const budget = 4 << 20
	var left atomic.Int64
	tiers := open(t, cache.TiersConfig{
		Local:     local.New(local.Config{MaxBytes: budget}),
		OnRemoved: func(cache.Entry, tier.EvictReason) { left.Add(1) },
	})
	c := with(t, tiers, cache.Config[int, []byte]{Load: func(context.Context, int) ([]byte, error) { return make([]byte, 1000), nil }})
	const keys = 10 * budget / 1000
	most := int64(0)
	for k := range keys {
		get(t, c, k)
		if r, _ := c.Fetch(t.Context(), k, nil); r.Source != cache.Local {
			t.Fatalf("key %d is not a local hit right after its load", k)
		}
		most = max(most, tiers.Stats().Local.Bytes)
	}
	if most > budget*105/100 || most < budget/2 {
		t.Errorf("up to %d bytes in use, want between half and 105 %% of %d", most, budget)
	}
	s := tiers.Stats()
	if got := left.Load() + s.Local.Entries; got != keys {
		t.Errorf("%d entries were removed and %d are in the tier, want %d in total", left.Load(), s.Local.Entries, keys)
	}
	if s.Total.Evictions != left.Load() {
		t.Errorf("Evictions = %d, but OnRemoved was called %d times", s.Total.Evictions, left.Load())
	}
}

func TestOnRemoved(t *testing.T) {
	var got []string
	tiers := open(t, cache.TiersConfig{OnRemoved: func(e cache.Entry, r tier.EvictReason) { got = append(got, e.Key()+" "+r.String()) }})
	c := with(t, tiers, thingConfig{})
	for _, err := range []error{c.Set(t.Context(), 1, "a"), c.Set(t.Context(), 1, "b"), c.Delete(t.Context(), 1), c.Delete(t.Context(), 1)} {
		succeeds(t, err)
	}
	if want := "[default:things:1 replaced default:things:1 deleted]"; fmt.Sprint(got) != want {
		t.Errorf("OnRemoved saw %v, want %s", got, want)
	}
}

// A hook that panics harms neither the tier nor the calls that evict entries.
func TestOnRemovedPanics(t *testing.T) {
	var said strings.Builder
	const budget = 1 << 20
	tiers := open(t, cache.TiersConfig{
		Local:     local.New(local.Config{MaxBytes: budget}),
		Logger:    slog.New(slog.NewTextHandler(&said, nil)),
		OnRemoved: func(cache.Entry, tier.EvictReason) { panic("secret") },
	})
	c := with(t, tiers, cache.Config[int, []byte]{Load: func(context.Context, int) ([]byte, error) { return make([]byte, 1000), nil }})
	for k := range 20 * budget / 1000 {
		if v, err := c.Get(t.Context(), k); err != nil || len(v) != 1000 {
			t.Fatalf("Get(%d) = %d bytes, %v", k, len(v), err)
		}
	}
	found := int64(0)
	for k := range 20 * budget / 1000 {
		if _, ok := c.Peek(t.Context(), k); ok {
			found++
		}
	}
	if s := tiers.Stats().Local; s.Entries != found || s.Bytes > budget*105/100 {
		t.Errorf("%d entries with %d bytes, but %d are found", s.Entries, s.Bytes, found)
	}
	if n := strings.Count(said.String(), "hook=OnRemoved"); n != 1 || strings.Contains(said.String(), "secret") {
		t.Errorf("%d log lines report the hook, want 1 without the panic's value:\n%s", n, said.String())
	}
}

func TestSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		mem := tiertest.NewMemory()
		_, cs := fleet(t, 2, mem, cache.TiersConfig{}, thingConfig{Load: src.load})
		must(t, cs[0].Set(t.Context(), 1, "set", cache.TTL(10*time.Second)))
		wantFetch(t, cs[0], 1, fetched{"set", cache.Local, false, nil})
		wantFetch(t, cs[1], 1, fetched{"set", cache.Remote, false, nil})
		advance(9 * time.Second)
		wantFetch(t, cs[0], 1, fetched{"set", cache.Local, false, nil})
		advance(time.Second)
		wantFetch(t, cs[0], 1, fetched{"1.1", cache.Load, false, nil})
		// Set replaces a remembered absence.
		src.fail(cache.ErrNotFound)
		wantFetch(t, cs[0], 2, fetched{"", cache.Load, false, cache.ErrNotFound})
		must(t, cs[0].Set(t.Context(), 2, "born"))
		wantFetch(t, cs[0], 2, fetched{"born", cache.Local, false, nil})
		wantFetch(t, cs[1], 2, fetched{"born", cache.Remote, false, nil})
	})
}

func TestSetRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
		c := with(t, tiers, thingConfig{Policy: patch{MaxValueBytes: new(10)}})
		must(t, c.Set(t.Context(), 1, "small"))
		wantError(t, c.Set(t.Context(), 1, "much too large"), "set", cell1, cache.ErrTooLarge)
		// The key is invalidated even so, because the old value is known to be outdated.
		_, err := c.Get(t.Context(), 1)
		wantError(t, err, "get", cell1, cache.ErrMiss)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantError(t, c.Set(ctx, 1, "x"), "set", cell1, context.Canceled)
	})
}

func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		mem := tiertest.NewMemory()
		c := with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{Load: src.load})
		succeeds(t, c.Delete(t.Context(), 1))
		for k := range 5 {
			get(t, c, k)
		}
		if err := c.Delete(t.Context(), 1); err != nil || mem.Len() != 4 {
			t.Errorf("Delete: %v, %d cells left, want 4", err, mem.Len())
		}
		wantFetch(t, c, 0, fetched{"0.1", cache.Local, false, nil})
		wantFetch(t, c, 1, fetched{"1.2", cache.Load, false, nil})
		succeeds(t, c.DeleteAll(t.Context()))
		wantFetch(t, c, 0, fetched{"0.2", cache.Load, false, nil})
	})
}

func TestPeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		_, cs := fleet(t, 2, remote, cache.TiersConfig{}, thingConfig{Load: src.load, Policy: swr})
		peek := func(c things, want string) {
			t.Helper()
			if v, ok := c.Peek(t.Context(), 1); v != want || ok != (want != "") {
				t.Errorf("Peek = %q, %v, want %q", v, ok, want)
			}
		}
		peek(cs[0], "")
		get(t, cs[0], 1)
		peek(cs[0], "1.1")
		peek(cs[1], "1.1") // from the remote tier
		remote.ResetCalls()
		peek(cs[1], "1.1")
		advance(20 * time.Second)
		peek(cs[1], "1.1") // stale
		synctest.Wait()
		if remote.Calls() != 0 {
			t.Errorf("%d remote calls for a local value", remote.Calls())
		}
		src.wantLoads(t, 1) // no refresh
		advance(time.Hour)
		peek(cs[1], "")
		remote.Fail(errRemote)
		peek(cs[1], "")
	})
}

// MaxAge bounds the age of a value by the time of its load.
func TestMaxAge(t *testing.T) {
	bubble(t, "MaxAge", func(t *testing.T) {
		src := &source{}
		_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{Load: src.load})
		c := cs[0]
		get(t, c, 1)
		advance(10 * time.Second)
		wantFetch(t, c, 1, fetched{"1.1", cache.Local, false, nil}, cache.MaxAge(10*time.Second))
		wantFetch(t, c, 1, fetched{"1.2", cache.Load, false, nil}, cache.MaxAge(9*time.Second))
		wantFetch(t, c, 1, fetched{"1.2", cache.Local, false, nil}, cache.MaxAge(time.Second))
		advance(time.Second)
		// The other process's value is accepted if it is young enough.
		wantFetch(t, cs[1], 1, fetched{"1.2", cache.Remote, false, nil}, cache.MaxAge(2*time.Second))
		advance(3 * time.Second)
		wantFetch(t, cs[1], 1, fetched{"1.3", cache.Load, false, nil}, cache.MaxAge(2*time.Second))
	})
	bubble(t, "MaxAge of 0, at the same instant", func(t *testing.T) {
		src := &source{}
		_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{Load: src.load})
		get(t, cs[0], 1)
		wantFetch(t, cs[0], 1, fetched{"1.2", cache.Load, false, nil}, cache.MaxAge(0))
		wantFetch(t, cs[1], 1, fetched{"1.3", cache.Load, false, nil}, cache.MaxAge(0))
		succeeds(t, cs[0].Refresh(t.Context(), 1))
		src.wantLoads(t, 4)
	})
	bubble(t, "MaxAge of 0, when the load fails", func(t *testing.T) {
		src := &source{}
		c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.load, Policy: failSafe})
		get(t, c, 1)
		src.fail(errSource)
		wantFetch(t, c, 1, fetched{"", 0, false, errSource}, cache.MaxAge(0))
		wantFetch(t, c, 1, fetched{"1.1", cache.Local, false, nil})
	})
	// A load that began before the call is not accepted, even if it ends after the call began.
	bubble(t, "MaxAge of 0, during a load", func(t *testing.T) {
		src := &source{took: time.Second}
		_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{Load: src.load})
		go func() { get(t, cs[0], 1) }()
		advance(500 * time.Millisecond)
		crowd(2, func(i int) {
			if r, err := cs[i].Fetch(t.Context(), 1, nil, cache.MaxAge(0)); r.Value == "1.1" || r.Source != cache.Load || err != nil {
				t.Errorf("Fetch = %+v, %v, want another load", r, err)
			}
		})
	})
}

func TestClone(t *testing.T) {
	loaded := []int{1, 2, 3}
	c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, []int]{
		Load:  func(context.Context, int) ([]int, error) { return loaded, nil },
		Clone: func(v []int) []int { return append([]int(nil), v...) },
	})
	for range 3 {
		v := get(t, c, 1)
		if v[0] != 1 {
			t.Fatalf("Get = %v: a reader or the loader changed the cached value", v)
		}
		v[0] = 99
		loaded[0] = 98 // the loader may change its slice after it returned
	}
	mine := []int{7}
	must(t, c.Set(t.Context(), 2, mine))
	mine[0] = 99
	if v := get(t, c, 2); v[0] != 7 {
		t.Errorf("Get = %v: the writer changed the cached value", v)
	}
}

func TestClose(t *testing.T) {
	bubble(t, "waits for loads", func(t *testing.T) {
		src := &source{took: 5 * time.Second}
		mem := tiertest.NewMemory()
		tiers := open(t, cache.TiersConfig{Remote: mem})
		c := with(t, tiers, thingConfig{Load: src.load})
		go func() {
			if v := get(t, c, 1); v != "1.1" {
				t.Errorf("Get = %q", v)
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := tiers.Close(ctx); err != nil || time.Since(start) != 5*time.Second {
			t.Errorf("Close: %v after %v, want the load's 5s", err, time.Since(start))
		}
		if mem.Len() != 1 {
			t.Error("the load's value did not reach the remote tier")
		}
	})
	bubble(t, "cancels loads when its context ends", func(t *testing.T) {
		src := &source{took: time.Hour}
		tiers, err := cache.Open(cache.TiersConfig{})
		must(t, err)
		c := with(t, tiers, thingConfig{Load: src.load, Policy: patch{LoadTimeout: new(2 * time.Hour)}})
		go func() {
			if _, err := c.Get(t.Context(), 1); err == nil {
				t.Error("a cancelled load succeeded")
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := tiers.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Close: %v after %v", err, time.Since(start))
		}
		synctest.Wait()
		if len(src.ctxErrs) != 1 {
			t.Error("the load was not cancelled")
		}
		succeeds(t, tiers.Close(t.Context()))
	})
	bubble(t, "use afterwards", func(t *testing.T) {
		src := &source{}
		tiers := open(t, cache.TiersConfig{})
		c := with(t, tiers, thingConfig{Load: src.load})
		get(t, c, 1)
		must(t, tiers.Close(t.Context()))
		const key = cell1
		_, err := c.Get(t.Context(), 1)
		wantError(t, err, "get", key, cache.ErrClosed)
		_, err = c.GetMany(t.Context(), []int{1})
		if !errors.Is(err, cache.ErrClosed) {
			t.Errorf("GetMany: %v", err)
		}
		wantError(t, c.Set(t.Context(), 1, "v"), "set", key, cache.ErrClosed)
		wantError(t, c.Delete(t.Context(), 1), "delete", key, cache.ErrClosed)
		wantError(t, c.Expire(t.Context(), 1), "expire", key, cache.ErrClosed)
		wantError(t, c.Refresh(t.Context(), 1), "refresh", key, cache.ErrClosed)
		wantError(t, c.DeleteAll(t.Context()), "delete all", "default:things", cache.ErrClosed)
		if _, ok := c.Peek(t.Context(), 1); ok {
			t.Error("Peek finds something")
		}
		src.wantLoads(t, 1)
	})
}

// Set and Delete may fail when their context has already ended. But the program has changed the
// source, so the old value is no longer served.
func TestWritesUnderAnEndedContext(t *testing.T) {
	for name, write := range map[string]func(ctx context.Context, c things) error{
		"Set":    func(ctx context.Context, c things) error { return c.Set(ctx, 1, "set") },
		"Delete": func(ctx context.Context, c things) error { return c.Delete(ctx, 1) },
	} {
		for _, tiers := range []string{"one tier", "two tiers", "a log"} {
			for _, how := range []string{"cancelled", "past its deadline"} {
				bubble(t, fmt.Sprintf("%s, %s, %s", name, tiers, how), func(t *testing.T) {
					writeUnderAnEndedContext(t, tiers, how, write)
				})
			}
		}
	}
}

func writeUnderAnEndedContext(t *testing.T, tiers, how string, write func(context.Context, things) error) {
	src := &source{}
	var c things
	switch tiers {
	case "one tier":
		c = with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.load})
	case "two tiers":
		c = with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{Load: src.load})
	default:
		c = newLogged(t, thingConfig{}).c[0]
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	if how == "cancelled" {
		cancel()
	}
	defer cancel()
	get(t, c, 1)
	advance(time.Second)
	err := write(ctx, c)
	for range 2 {
		switch v := get(t, c, 1); {
		case v == "1.1":
			t.Errorf("the write returned %v, and Get returns the old value", err)
		case err == nil && v != "set" && v != "1.2":
			t.Errorf("the write succeeded, and Get = %q", v)
		}
	}
	advance(2 * bound)
	if v := get(t, c, 1); v == "1.1" {
		t.Errorf("two bounds after the write, which returned %v, Get returns the old value", err)
	}
}

// Size may walk a large value, so a Set or a load calls it only once.
func TestSizeIsCalledOnce(t *testing.T) {
	for _, remote := range []bool{false, true} {
		t.Run(fmt.Sprint("remote=", remote), func(t *testing.T) {
			var sizes atomic.Int64
			tc := tiersOf(remote)
			c := with(t, open(t, tc), thingConfig{
				Load: func(context.Context, int) (string, error) { return "v", nil },
				Size: func(v string) int64 { sizes.Add(1); return int64(len(v)) },
			})
			for name, op := range map[string]func() error{
				"Set":              func() error { return c.Set(t.Context(), 1, "one") },
				"Set of a new key": func() error { return c.Set(t.Context(), 2, "two") },
				"a load":           func() error { _, err := c.Get(t.Context(), 3); return err },
			} {
				sizes.Store(0)
				if err := op(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if n := sizes.Load(); n != 1 {
					t.Errorf("%s calls Size %d times, want 1", name, n)
				}
			}
		})
	}
}

// When the local tier has no room for a value and there is no other tier, Set fails. Otherwise
// the next read would not find the value.
func TestSetOfWhatTheLocalTierRefuses(t *testing.T) {
	big := strings.Repeat("x", 300<<10) // more than a fifth of the tier, less than MaxValueBytes
	for _, remote := range []bool{false, true} {
		t.Run(fmt.Sprint("remote=", remote), func(t *testing.T) {
			src := &source{}
			tc := cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1 << 20})}
			if remote {
				tc.Remote = tiertest.NewMemory()
			}
			c := with(t, open(t, tc), thingConfig{Load: src.load, Policy: patch{MaxValueBytes: new(1 << 20)}})
			get(t, c, 1)
			err := c.Set(t.Context(), 1, big)
			v := get(t, c, 1)
			if v == "1.1" {
				t.Error("Get returns the old value")
			}
			if remote {
				if err != nil || v != big {
					t.Errorf("Set: %v, then Get returns %d bytes, want the %d of the remote tier", err, len(v), len(big))
				}
				return
			}
			if err == nil {
				t.Errorf("Set succeeds, and the next read returns %q", v)
			} else if wantError(t, err, "set", cell1, cache.ErrTooLarge); !strings.Contains(err.Error(), "local tier") {
				t.Errorf("%v, want an error that names the local tier", err)
			}
			if err := c.Set(t.Context(), 1, "small"); err != nil || errors.Is(err, cache.ErrTooLarge) {
				t.Errorf("Set of a small value: %v", err)
			}
			if v := get(t, c, 1); v != "small" {
				t.Errorf("Get = %q, want the value of Set", v)
			}
		})
	}
}
