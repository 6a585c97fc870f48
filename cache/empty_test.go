package cache_test

import (
	"context"
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
	for _, call := range []string{"gets empty", "many empty", "refreshes", "sets set TTL=1h", "sets-many TTL=1h"} {
		for life, found := range map[time.Duration]string{3 * time.Second: "any", 0: "nothing"} {
			for _, many := range []bool{false, true} {
				cfg := thingConfig{Empty: func(v string) bool { return v == "" || v == "set" }, Policy: patch{NegativeTTL: &life}}
				play(t, scene{name: fmt.Sprint(call, ", NegativeTTL ", life, ", LoadMany ", many), on: paired, many: many, cfg: cfg, steps: `
					source empty; a ` + call + strings.ReplaceAll("; a peeks FOUND; b peeks FOUND; wait 2998ms; a peeks FOUND; b peeks FOUND", "FOUND", found) + `
					wait 2ms; a peeks nothing; b peeks nothing; cells 0`})
			}
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
		c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), cache.Config[int, []string]{
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
		for range 2 {
			r, err := c.Fetch(t.Context(), 1, nil)
			if err != nil || r.Value == nil || len(r.Value) > 0 || r.Negative || r.Stale {
				t.Errorf("Fetch = %+v, %v, want an empty list that is no absence", r, err)
			}
			must(t, c.Refresh(t.Context(), 1))
		}
		equal(t, asked.Load(), 3, "calls of Empty")
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
