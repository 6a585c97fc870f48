package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
)

// A call that would invalidate nothing is refused: a scope was forgotten.
func TestNoScopeIsRefused(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	for name, call := range map[string]func(context.Context, ...invalidate.Scope) error{"invalidate": tiers.Invalidate, "expire": tiers.Expire} {
		misuse{call(t.Context()), invalidate.ErrScope, []string{name, "there is none", "name a key, tag or prefix"}}.check(t)
	}
}

// Tiers may share a log. The last one closes it. A log whose value cannot be compared is closed by each.
func TestTheLastTiersCloseTheLog(t *testing.T) {
	bubble(t, "log", func(t *testing.T) {
		for range 2 { // it can be used again
			log := &closing{Log: logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second})}
			cfg := cache.TiersConfig{Log: log}
			_, err := cache.Open(cache.TiersConfig{Log: log, MaxLoads: -1})
			misuse{err, nil, []string{"field MaxLoads"}}.check(t)
			first, err := cache.Open(cfg)
			must(t, err)
			second, err := cache.Open(cfg)
			must(t, err)
			must(t, first.Close(t.Context()))
			must(t, second.Ready(t.Context()))
			equal(t, log.closed, 0, "closed while it is followed")
			must(t, second.Close(t.Context()))
			equal(t, log.closed, 1, "closed after the last Close")
		}
		log := &closing{Log: logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second})}
		tiers, err := cache.Open(cache.TiersConfig{Log: uncomparable{log, nil}})
		must(t, err)
		must(t, tiers.Close(t.Context()))
		equal(t, log.closed, 1, "closed behind a wrapper")
	})
}

// A LocalTTL above TTL would have no effect. A table may make such a policy: it shortens the TTL of many caches.
func TestLocalTTLAboveTTL(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	misuse{newErr(tiers, cache.Config[int, string]{Policy: patch{LocalTTL: new(time.Hour)}}), nil, []string{"field Policy", "LocalTTL: 1h0m0s is above TTL 1m0s", "raise TTL"}}.check(t)
	with(t, tiers, cache.Config[int, string]{Policy: patch{LocalTTL: new(30 * time.Second)}})
	must(t, tiers.SetPolicies(policy.Table{{Tenant: "acme", Patch: patch{TTL: new(10 * time.Second)}}}))
}

// Each fault of a table is said once, also if it is a fault of every namespace.
func TestFaultsOfATableAreSaidOnce(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	for _, name := range []string{"a", "b", "c"} {
		with(t, tiers, cache.Config[int, string]{Namespace: name, Policy: patch{Stale: new(time.Hour)}})
	}
	with(t, tiers, cache.Config[int, string]{Namespace: "d", Policy: patch{Stale: new(time.Hour), SoftTimeout: new(time.Second)}})
	err := tiers.SetPolicies(policy.Table{{Tenant: "acme", Patch: patch{TTL: new(-time.Second), LoadTimeout: new(time.Millisecond)}}, {Tenant: "x:y"}})
	misuse{err, policy.ErrInvalid, []string{"-1s is negative", "a tenant never contains ':'", `with the policy of namespace "d"`, "SoftTimeout: 1s is above LoadTimeout 1ms"}}.check(t)
	for _, text := range []string{"-1s is negative", "never contains", "SoftTimeout", "with the policy"} {
		if n := strings.Count(err.Error(), text); n != 1 {
			t.Errorf("%q is said %d times:\n%v", text, n, err)
		}
	}
}

// The cause that a caller gave to its context is in the error of its call, beside the context's own error.
func TestCauseOfACaller(t *testing.T) {
	cause := errors.New("the client hung up")
	for name, call := range map[string]func(context.Context, cache.Cache[int, string]) error{
		"Get":     func(ctx context.Context, c cache.Cache[int, string]) error { return errOf(c.Get(ctx, 1)) },
		"GetMany": func(ctx context.Context, c cache.Cache[int, string]) error { return errOf(c.GetMany(ctx, []int{1, 2})) },
		"Refresh": func(ctx context.Context, c cache.Cache[int, string]) error { return c.Refresh(ctx, 1) },
	} {
		for _, when := range []time.Duration{0, time.Second} {
			bubble(t, name+" "+when.String(), func(t *testing.T) {
				c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, string]{Load: func(ctx context.Context, _ int) (string, error) {
					return "v", nap(ctx, time.Minute)
				}})
				ctx, cancel := context.WithCancelCause(t.Context())
				if when == 0 {
					cancel(cause)
				} else {
					time.AfterFunc(when, func() { cancel(cause) })
				}
				err := call(ctx, c)
				if b, ok := errors.AsType[*cache.BatchError[int]](err); ok {
					err = b.Errs[1]
				}
				if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
					t.Errorf("%v: want the cause and context.Canceled", err)
				}
			})
		}
	}
}

// closing is a log that counts its Close calls.
type closing struct {
	invalidate.Log
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

type uncomparable struct {
	invalidate.Log
	_ []int
}
