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
	play(
		t,
		scene{name: "for its TTL", on: paired, steps: `
			a sets set TTL=10s; a gets set local; b gets set remote; wait 9s; a gets set local; wait 1s; a gets 1.1 load`},
		scene{name: "over an absence", on: paired, steps: "source absent; a gets absent load; a sets born; a gets born local; b gets born remote"},
		// The key is invalidated even so, because the old value is known to be outdated.
		scene{name: "too large", on: paired, cfg: thingConfig{Policy: patch{MaxValueBytes: new(10)}}, steps: `
			a sets small; a sets much_too_large large; a gets 1.1 load; a sets x ended cancelled`},
	)
}

func TestDelete(t *testing.T) {
	play(t, scene{on: paired, steps: `
		a deletes; a gets 0.1 key=0; a gets 1.1; cells 2; a deletes; cells 1; a gets 0.1 local key=0; a gets 1.2 load
		a deletes all; a gets 0.2 load key=0`})
}

// Peek finds fresh and stale values of both tiers. It causes no load, and no remote call for a local value.
func TestPeek(t *testing.T) {
	play(t, scene{on: paired, cfg: thingConfig{Policy: swr}, steps: `
		a peeks nothing; a gets 1.1; a peeks 1.1; b peeks 1.1; b's remote fails; b peeks 1.1; wait 20s; b peeks 1.1
		loads 1; wait 1h; b peeks nothing`})
}

// MaxAge bounds the age of a value by the time of its load.
func TestMaxAge(t *testing.T) {
	play(
		t,
		scene{name: "of any tier", on: paired, steps: `
			a gets 1.1; wait 10s; a gets 1.1 local MaxAge=10s; a gets 1.2 load MaxAge=9s; a gets 1.2 local MaxAge=1s
			wait 1s; b gets 1.2 remote MaxAge=2s; wait 3s; b gets 1.3 load MaxAge=2s`},
		scene{name: "of 0, at the same instant", on: paired, steps: `
			a gets 1.1; a gets 1.2 load MaxAge=0s; b gets 1.3 load MaxAge=0s; a refreshes; loads 4`},
		scene{name: "of 0, when the load fails", cfg: thingConfig{Policy: failSafe}, steps: `
			a gets 1.1; source fails; a gets failed MaxAge=0s; a gets 1.1 local`},
		// A load that began before the call is not accepted, even if it ends after the call began.
		scene{name: "of 0, during a load", on: paired, steps: `
			source takes=1s; go a gets 1.1; wait 500ms; go a gets !1.1 load MaxAge=0s; b gets !1.1 load MaxAge=0s; wait 5s`},
	)
}

// Set and Delete may fail when their context has already ended. But the program has changed the
// source, so the old value is no longer served.
func TestWritesUnderAnEndedContext(t *testing.T) {
	for _, write := range []string{"sets set", "deletes"} {
		for _, how := range []string{"ended", "overdue"} {
			play(t, scene{name: write + " " + how, on: "alone paired logged", steps: `
				a gets 1.1; wait 1s; a ` + write + ` maybe ` + how + `; a gets !1.1; a gets !1.1; wait 4s; a gets !1.1`})
		}
	}
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
