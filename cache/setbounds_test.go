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
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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
