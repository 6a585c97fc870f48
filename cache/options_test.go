package cache_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
)

// A call that skips a tier reads nothing from it and stores nothing in it.
func TestSkippedTiers(t *testing.T) {
	const local, remote = "; cells 0; a counts Entries=1; remote fails; a peeks ", "; cells 1; a counts Entries=0; remote fails; a peeks nothing; remote well"
	play(
		t,
		scene{name: "load, no local", on: paired, steps: `
			a gets 1.1 load SkipLocal` + remote + `; a gets 1.1 remote SkipLocal; a gets 1.1 remote`},
		scene{name: "load, no remote", on: paired, steps: `
			a gets 1.1 load SkipRemote` + local + `1.1; remote well; a gets 1.1 local SkipRemote; a gets 1.1 local`},
		scene{name: "load, neither", on: paired, steps: `
			a gets 1.1 load SkipLocal SkipRemote; cells 0; a counts Entries=0; a gets 1.2 load SkipLocal SkipRemote; a gets 1.3 load`},
		scene{name: "plain load, no local", on: paired, steps: `
			a gets 1.1; cells 1; a counts Entries=1; a gets 1.1 remote SkipLocal; a gets 1.1 local`},
		scene{name: "set, no local", on: paired, steps: `
			a gets 1.1; a sets set SkipLocal` + remote + `; a gets set remote SkipLocal; a gets set remote`},
		scene{name: "set, no remote", on: paired, steps: `
			a gets 1.1; a sets set SkipRemote` + local + `set; remote well; a gets set local SkipRemote; a gets set local`},
		// After a read with SkipLocal, the next read does not return an older local value.
		scene{name: "older copies", on: paired, steps: `
			a gets 1.1; wait 1s; b gets 1.2 load MaxAge=0s; a gets 1.1 local; a gets 1.2 remote SkipLocal; a gets 1.2 remote
			wait 1s; a gets 1.3 load MaxAge=0s SkipLocal SkipRemote; a gets 1.2 remote`},
		// A failed load serves old values only from the tiers that the call uses. It removes nothing.
		scene{
			name: "failed loads", on: paired, cfg: thingConfig{Policy: patch{TTL: new(time.Minute), StaleIfError: new(time.Hour), ErrorTTL: new(time.Second)}},
			steps: `a gets 1.1; wait 2m; source fails; a gets 1.1 remote stale SkipLocal; a gets 1.1 local stale SkipRemote
				a gets failed SkipRemote SkipLocal; remote empties; a gets failed SkipLocal; wait 1m; a gets 1.1 local stale`,
		},
	)
}

// Callers share a load only if they skip the same tiers. Flights that use the remote tier share
// a load by its claim.
func TestSkippingCallersAtOnce(t *testing.T) {
	play(t, scene{on: paired, steps: `
		source takes=1s; go 4 a gets any; go 4 b gets any; go 4 a gets any SkipLocal; go 4 b gets any SkipLocal
		go 8 a gets any SkipRemote; go 8 a gets any SkipLocal SkipRemote; wait 5s; loads 3
		cells 1; a counts Entries=1; b counts Entries=1`})
}

// A LocalOnly cache never calls the remote tier.
func TestLocalOnly(t *testing.T) {
	play(t, scene{on: paired, cfg: thingConfig{LocalOnly: true, Policy: patch{Stale: new(time.Minute)}}, steps: `
		remote fails; a gets 1.1 load; a gets 1.1 local; a gets 1.2 load SkipLocal; a peeks nothing key=9; a batches 1-3
		a sets set; a sets-many; a deletes-many; a expires key=3; a refreshes key=3; a deletes key=4; a deletes all; a calls 0`})
	t.Run("a type that does not encode", func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{Remote: faulty()})
		if _, err := cache.New(tiers, cache.Config[int, map[struct{ X int }]int]{Namespace: "shared"}); err == nil {
			t.Error("New accepts the type with a remote tier")
		}
		with(t, tiers, cache.Config[int, map[struct{ X int }]int]{LocalOnly: true})
	})
}

// An option that the call does not support, or with a value out of range, is refused before
// anything is done. So is With of a patch that makes no valid policy.
func TestRefusedOptions(t *testing.T) {
	src := &source{}
	tiers := open(t, cache.TiersConfig{})
	c := with(t, tiers, thingConfig{Load: src.load})
	ctx := t.Context()
	reads := map[string]func(cache.Option) error{
		"get":               func(o cache.Option) error { return errOf(c.Fetch(ctx, 1, nil, o)) },
		"get, by GetOrLoad": func(o cache.Option) error { return errOf(c.GetOrLoad(ctx, 1, nil, o)) },
		"get many":          func(o cache.Option) error { return errOf(c.GetMany(ctx, []int{1}, o)) },
	}
	writes := map[string]func(cache.Option) error{
		"set":      func(o cache.Option) error { return c.Set(ctx, 1, "v", o) },
		"set many": func(o cache.Option) error { return c.SetMany(ctx, map[int]string{1: "v"}, o) },
	}
	all := maps.Clone(reads)
	maps.Copy(all, writes)
	for _, tt := range []struct {
		opt   cache.Option
		calls map[string]func(cache.Option) error
		says  string // texts in the error: option and remedy
		field string // of the policy
	}{
		{cache.MaxAge(time.Second), writes, "MaxAge says what a read accepts|pass MaxAge to Fetch", ""},
		{cache.Fresh(), writes, "Fresh says what a read accepts|pass Fresh to Fetch", ""},
		{cache.TTL(0), all, "TTL of 0s|at least 1ms", ""},
		{cache.TTL(-time.Second), all, "TTL of -1s|at least 1ms", ""},
		{cache.TTL(time.Microsecond), all, "TTL of 1µs|at least 1ms", ""},
		{cache.MaxAge(-time.Second), reads, "MaxAge of -1s|0 or more", ""},
		{cache.Tags("a"), reads, "Tags on a read|set Config.Tags", ""},
		{cache.Tags("a", ""), all, "Tags|tag", ""},
		{cache.Tags("\xff"), all, "Tags|UTF-8", ""},
		{cache.Tags(strings.Repeat("x", 10<<20)), all, "Tags|at most", ""},
		{cache.With(patch{TTL: new(-time.Second)}), all, "TTL", "TTL"},
		{cache.With(patch{TTL: new(time.Duration(0))}), all, "TTL", "TTL"},
		{cache.With(patch{Jitter: new(math.NaN())}), all, "Jitter", "Jitter"},
		{cache.With(patch{SoftTimeout: new(time.Second)}), all, "SoftTimeout", "SoftTimeout"}, // this cache has no Stale
		{cache.With(patch{LoadTimeout: new(time.Duration(0))}), all, "LoadTimeout", "LoadTimeout"},
		{cache.With(patch{Off: new(false)}), all, "Off", "Off"},
	} {
		for name, call := range tt.calls {
			op, _, _ := strings.Cut(name, ",")
			err := call(tt.opt)
			misuse{err, cache.ErrOption, strings.Split(tt.says, "|")}.check(t)
			if ce, ok := errors.AsType[*cache.Error](err); !ok || ce.Op != op {
				t.Errorf("%s: error = %v, want an *Error of it", op, err)
			}
			if fault, named := errors.AsType[*policy.FieldError](err); named != (tt.field != "") || named && (fault.Field != tt.field || !errors.Is(err, policy.ErrInvalid)) {
				t.Errorf("%s: error = %v, want one that names the field %q", op, err, tt.field)
			}
		}
	}
	// Options that leave a Set no tier.
	wantError(t, c.Set(ctx, 1, "v", cache.SkipLocal(), cache.SkipRemote()), "set", cell1, cache.ErrOption)
	two := open(t, cache.TiersConfig{Remote: faulty()})
	for _, one := range []things{c, with(t, two, thingConfig{LocalOnly: true})} {
		wantError(t, one.Set(ctx, 1, "v", cache.SkipLocal()), "set", cell1, cache.ErrOption)
		wantError(t, one.SetMany(ctx, map[int]string{1: "v"}, cache.SkipLocal()), "set many", "default:things", cache.ErrOption)
	}
	equal(t, two.Stats().Kinds.Keys, 0, "keys that a refused Set invalidated")
	if s := tiers.Stats(); src.total() != 0 || s.Kinds.Keys != 0 || s.Local.Entries != 0 {
		t.Errorf("a refused call had an effect: %d loads, %+v, %+v", src.total(), s.Kinds, s.Local)
	}
	wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Load}, cache.Tags(), cache.Option{})
	if _, err := (things{}).Fetch(ctx, 1, nil, cache.With(patch{})); err == nil {
		t.Error("With on the zero Cache: no error")
	}
}

// A call's own policy counts after the Config and the table, and before TTL. It counts for that
// call, and for the refreshes that it causes.
func TestWith(t *testing.T) {
	table := cache.TiersConfig{Policies: policy.Table{{Patch: patch{TTL: new(20 * time.Second)}}}}
	for _, tt := range []struct {
		tc   cache.TiersConfig
		call string
		own  patch
		life time.Duration
	}{
		{call: "gets any", life: 10 * time.Second},
		{call: "gets any own", life: 10 * time.Second},
		{call: "gets any With=1h", life: time.Hour},
		{call: "many any With=1h", life: time.Hour},
		{call: "sets any With=1h", life: time.Hour},
		{tc: table, call: "gets any", life: 20 * time.Second},
		{tc: table, call: "gets any With=1h", life: time.Hour},
		{tc: table, call: "gets any own", own: patch{NegativeTTL: new(time.Hour)}, life: 20 * time.Second},
		{call: "gets any TTL=1m With=1h", life: time.Minute},
		{call: "sets any With=1h TTL=1m", life: time.Minute},
		{call: "gets any With=1m With=1h", life: time.Hour},
	} {
		loads := 1
		if strings.HasPrefix(tt.call, "sets") {
			loads = 0
		}
		// The last load is by the policy of the cache.
		play(t, scene{name: tt.call, tc: tt.tc, own: tt.own, cfg: thingConfig{Policy: patch{TTL: new(10 * time.Second)}}, steps: fmt.Sprintf(`
			a %s; wait %v; a gets any; loads %d; wait 1ns; a gets any; loads %d; wait 20s; a gets any; loads %d`, tt.call, tt.life-1, loads, loads+1, loads+2)})
	}
}

// Every field that a call can feel counts from its own policy.
func TestWithFields(t *testing.T) {
	for name, tt := range map[string]scene{
		"NegativeTTL":  {own: patch{NegativeTTL: new(time.Hour)}, steps: "source absent; a gets absent load own; wait 59m59s; a gets absent local; loads 1"},
		"ErrorTTL":     {own: patch{ErrorTTL: new(time.Minute)}, steps: "source fails; a gets failed own; a gets remembered local; loads 1"},
		"StaleIfError": {own: patch{StaleIfError: new(time.Hour)}, steps: "a gets 1.1 load own; source fails; wait 1m; a gets 1.1 local stale own"},
		"Stale, of the refresh too": {own: patch{Stale: new(time.Hour)}, steps: `
			a gets 1.1 load own; wait 1s; a gets 1.1; wait 1m; a gets 1.1 local stale own; wait 1s; a gets 1.2; wait 1m; a gets 1.2 local stale`},
		"SoftTimeout": {own: patch{Stale: new(time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(10 * time.Millisecond)}, steps: `
			a gets 1.1 load own; wait 2m; source takes=1s; a gets 1.1 local stale own; took 10ms
			wait 3m; a gets 1.3 load own Fresh; took 1s`},
		"LoadTimeout":   {own: patch{LoadTimeout: new(time.Second)}, steps: "source takes=1m; a gets slow own; took 1s"},
		"Detached":      {own: patch{Detached: new(true)}, steps: "source takes=3s; a gets late own timeout=1s; wait 2s; a gets 1.1 local"},
		"MinLoad":       {own: patch{MinLoad: new(20 * time.Second)}, steps: "a gets 1.1 load own; a gets 1.2 load"},
		"MaxValueBytes": {own: patch{MaxValueBytes: new(2)}, steps: "a gets 1.1 load own; a sets too_long key=2 own large; a gets 1.2 load"},
		"LocalTTL":      {own: patch{LocalTTL: new(time.Second)}, steps: "a gets 1.1 load own; wait 1s; a gets 1.1 remote"},
		"Off": {own: patch{Off: new(true)}, steps: `
			a gets 1.1; a gets 1.2 load own; a gets 1.1 local; a many 1.3 own; a sets set own; a gets 1.4 load`},
		"Off shares no load":                  {own: patch{Off: new(true)}, steps: "source takes=1s; go a gets any; go a gets any own; wait 2s; loads 2; a peeks any"},
		"Off shares no load that comes later": {own: patch{Off: new(true)}, steps: "source takes=1s; go a gets any own; go a gets any; wait 2s; loads 2; a peeks any"},
	} {
		tt.name, tt.on = name, paired
		play(t, tt)
	}
}
