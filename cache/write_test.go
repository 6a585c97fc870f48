package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
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
				succeeds(t, op())
				equal(t, sizes.Load(), 1, "the calls of Size by %s", name)
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
			equal(t, get(t, c, 1), "small", "Get")
		})
	}
}

// Close waits for loads and for calls to the remote tier. When its context ends, it cancels them.
func TestClose(t *testing.T) {
	long := thingConfig{Policy: patch{LoadTimeout: new(2 * time.Hour), RemoteTimeout: new(time.Minute)}}
	play(
		t,
		scene{name: "a load", on: paired, steps: "source takes=5s; go a gets 1.1; a closes timeout=1m; took 5s; cells 1"},
		scene{name: "a remote call", on: paired, cfg: long, steps: "b gets 1.1; remote gets=100ms; go a gets 1.1 remote; a closes; took 100ms"},
		scene{name: "cancels", cfg: long, steps: `
			source takes=1h; go a gets closed; a closes late timeout=1s; took 1s; running 0; a closes`},
		scene{name: "use afterwards", steps: `
			a gets 1.1; a closes; a gets closed; a many closed; a sets v closed; a deletes closed; a expires closed; a refreshes closed
			a deletes all closed; a peeks nothing; loads 1`},
	)
}
