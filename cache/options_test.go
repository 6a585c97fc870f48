package cache_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
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
	synctest.Test(t, func(t *testing.T) {
		remote, src := faulty(), &source{}
		remote.Fail(errRemote)
		_, cs := fleet(t, 1, remote, cache.TiersConfig{}, thingConfig{
			Load: src.load, LocalOnly: true, Policy: policy.Patch{TTL: new(time.Minute), Stale: new(time.Minute)},
		})
		ctx, c := t.Context(), cs[0]
		wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Load})
		wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Local})
		wantFetch(t, c, 1, fetched{Value: "1.2", Source: cache.Load}, cache.SkipLocal())
		_, peeked := c.Peek(ctx, 9)
		m, err := c.GetMany(ctx, []int{1, 2, 3})
		if err != nil || len(m) != 3 || peeked {
			t.Errorf("GetMany = %v, %v; Peek = %v", m, err, peeked)
		}
		for name, err := range map[string]error{
			"SetMany": c.SetMany(ctx, map[int]string{1: "a", 2: "b"}), "DeleteMany": c.DeleteMany(ctx, []int{1, 2}, c.Tag("t")),
			"Set": c.Set(ctx, 1, "set"), "Expire": c.Expire(ctx, 2), "Refresh": c.Refresh(ctx, 3), "Delete": c.Delete(ctx, 4), "DeleteAll": c.DeleteAll(ctx),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := remote.Calls(); n > 0 {
			t.Errorf("%d remote calls, want none", n)
		}
	})
	t.Run("a type that does not encode", func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{Remote: faulty()})
		if _, err := cache.New(tiers, cache.Config[int, map[struct{ X int }]int]{Namespace: "shared"}); err == nil {
			t.Error("New accepts the type with a remote tier")
		}
		with(t, tiers, cache.Config[int, map[struct{ X int }]int]{LocalOnly: true})
	})
}

// An option that the call does not support, or with a value out of range, is refused before
// anything is done.
func TestRefusedOptions(t *testing.T) {
	src := &source{}
	tiers := open(t, cache.TiersConfig{})
	c := with(t, tiers, thingConfig{Load: src.load})
	ctx := t.Context()
	calls := map[string]func(cache.Option) error{
		"Fetch":     func(o cache.Option) error { _, err := c.Fetch(ctx, 1, nil, o); return err },
		"GetOrLoad": func(o cache.Option) error { _, err := c.GetOrLoad(ctx, 1, nil, o); return err },
		"GetMany":   func(o cache.Option) error { _, err := c.GetMany(ctx, []int{1}, o); return err },
		"Set":       func(o cache.Option) error { return c.Set(ctx, 1, "v", o) },
	}
	for _, tt := range []struct {
		opt   cache.Option
		calls string
		says  string // texts in the error: option and remedy
	}{
		{cache.MaxAge(time.Second), "Set", "MaxAge says what a read accepts|pass MaxAge to Fetch"},
		{cache.Fresh(), "Set", "Fresh says what a read accepts|pass Fresh to Fetch"},
		{cache.TTL(0), "Fetch GetOrLoad GetMany Set", "TTL of 0s|at least 1ms"},
		{cache.TTL(-time.Second), "Fetch GetOrLoad GetMany Set", "TTL of -1s|at least 1ms"},
		{cache.TTL(time.Microsecond), "Fetch GetOrLoad GetMany Set", "TTL of 1µs|at least 1ms"},
		{cache.MaxAge(-time.Second), "Fetch GetOrLoad GetMany", "MaxAge of -1s|0 or more"},
		{cache.Tags("a"), "Fetch GetOrLoad GetMany", "Tags on a read|set Config.Tags"},
		{cache.Tags("a", ""), "Fetch GetOrLoad GetMany Set", "Tags|tag"},
		{cache.Tags("\xff"), "Fetch GetOrLoad GetMany Set", "Tags|UTF-8"},
		{cache.Tags(strings.Repeat("x", invalidate.MaxTagLen+1)), "Fetch GetOrLoad GetMany Set", "Tags|at most"},
	} {
		for name := range strings.FieldsSeq(tt.calls) {
			err := calls[name](tt.opt)
			if ce, ok := errors.AsType[*cache.Error](err); !ok || !errors.Is(err, cache.ErrOption) {
				t.Errorf("%s: error = %v, want an *Error that is ErrOption", name, ce)
			}
			for part := range strings.SplitSeq(tt.says, "|") {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: error = %v, want an error that contains %q", name, err, part)
				}
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
}

// AllowStale is an older name of Fresh, which does nothing with true.
func TestAllowStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, alone, cache.TiersConfig{}, thingConfig{Policy: patch{TTL: new(time.Minute), Stale: new(time.Hour)}}, asIs)
		for option, want := range []string{"1.1", "1.1", "1.3"} {
			r, err := w.c[0].Fetch(t.Context(), 1, nil, []cache.Option{cache.Fresh(), cache.AllowStale(true), cache.AllowStale(false)}[option])
			if err != nil || r.Value != want {
				t.Errorf("%q, %v; want %q", r.Value, err, want)
			}
			synctest.Wait()
			advance(2 * time.Minute)
		}
	})
}
