package cache_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// isEmpty is a Config.Empty for which "set" is empty, too: what a read returns is then the value that was
// stored, and not the zero value.
func isEmpty(v string) bool { return v == "" || v == "set" }

// An empty value lives for NegativeTTL in every process, and is no error. What is not empty lives
// for TTL.
func TestEmptyLivesAsAnAbsence(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg        thingConfig
		own        patch
		opts       string
		life, full time.Duration // of the empty value, and of the other
	}{
		"without Empty":            {life: time.Minute, full: time.Minute},
		"default":                  {cfg: thingConfig{Empty: isEmpty}, life: 3 * time.Second, full: time.Minute},
		"policy":                   {cfg: thingConfig{Empty: isEmpty, Policy: patch{NegativeTTL: new(5 * time.Second)}}, life: 5 * time.Second, full: time.Minute},
		"the option TTL":           {cfg: thingConfig{Empty: isEmpty}, opts: "TTL=1h", life: 3 * time.Second, full: time.Hour},
		"the option With":          {cfg: thingConfig{Empty: isEmpty}, opts: "own", own: patch{NegativeTTL: new(time.Second)}, life: time.Second, full: time.Minute},
		"stale values are allowed": {cfg: thingConfig{Empty: isEmpty, Policy: patch{StaleIfError: new(time.Hour)}}, life: 3 * time.Second, full: time.Minute},
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
			play(t, scene{name: ends + says, on: paired, cfg: thingConfig{Empty: isEmpty, Policy: patch{
				NegativeTTL: &life, Stale: new(time.Hour), StaleIfError: new(time.Hour), Throttle: new(time.Duration(0)),
			}}, steps: `
				says ` + says + `; a gets 1.1; wait 1m; source empty; a gets 1.1 stale; a gets empty local; b gets empty remote
				` + ends + `; source fails; a gets failed; previous nothing; b gets failed; previous nothing`})
		}
	}
}

// Whichever call loads or sets the empty value, every process reads it for NegativeTTL. If that is 0, no tier
// keeps it. A value that is absent stays absent beside it.
func TestEmptyInEveryCall(t *testing.T) {
	for _, call := range []string{"gets set load", "many set", "refreshes", "sets set TTL=1h", "sets-many TTL=1h"} {
		for _, many := range []bool{false, true} {
			name, does := fmt.Sprintf("%s, LoadMany %v", call, many), "source is=set; a "+call
			play(
				t,
				scene{name: name, on: paired, many: many, cfg: thingConfig{Empty: isEmpty}, steps: does + `
					a peeks set; a many set; b gets set remote; wait 2998ms; a peeks set; wait 2ms; a peeks nothing; b peeks nothing`},
				scene{name: name + ", not remembered", on: paired, many: many, cfg: thingConfig{Empty: isEmpty, Policy: patch{NegativeTTL: new(time.Duration(0))}},
					steps: does + "; a peeks nothing; b peeks nothing; cells 0"},
			)
		}
	}
	play(t, scene{name: "beside an absence", many: true, cfg: thingConfig{Empty: isEmpty}, steps: "source is=set; a many set; a many absent key=1000; a peeks nothing key=1000"})
}

// A value that was built from an empty one depends on it like on any other.
func TestEmptyIsAPart(t *testing.T) {
	play(t, scene{cfg: thingConfig{Empty: isEmpty}, pages: &longLived, steps: `
		source empty; a page empty load; a page empty local; source full; a deletes; a page 1.2 load`})
}

// ErrNotModified confirms an empty value as one, and Empty is called once for a load. A panic of Empty
// reaches the callers and leaves nothing locked.
func TestEmptyAgain(t *testing.T) {
	asked := 0
	empty := func(v string) bool {
		if asked++; v == "bad" {
			panicHere(errSource)
		}
		return isEmpty(v)
	}
	play(t, scene{on: paired, cfg: thingConfig{Empty: empty}, steps: `
		source is=set; a gets set load; source unchanged; a refreshes; a gets set local; wait 3s; a peeks nothing
		source is=bad; a gets panic key=2; a gets panic key=2`})
	equal(t, asked, 4, "calls of Empty")
	c := with(t, open(t, cache.TiersConfig{}), thingConfig{Empty: empty})
	equal(t, panicOf(func() { _ = c.Set(t.Context(), 2, "bad") }), any(errSource), "Set panicked with")
}
