package cache_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

type user struct{ Name string }

// misuse is one wrong use of the package. Its error must name the field or argument, the shape
// of the value, and the remedy. It quotes only a part of a long argument, because errors are written to logs.
type misuse struct {
	err  error
	is   error
	says []string
}

func (m misuse) check(t *testing.T) {
	t.Helper()
	if m.err == nil {
		t.Error("no error, want one")
		return
	}
	if s := m.err.Error(); len(s) > 1000 {
		t.Errorf("an error of %d bytes, want a short one: %.100s", len(s), s)
	}
	if m.is != nil && !errors.Is(m.err, m.is) {
		t.Errorf("%v: want an error that is %v", m.err, m.is)
	}
	for _, s := range m.says {
		if !strings.Contains(m.err.Error(), s) {
			t.Errorf("%v: want an error that contains %q", m.err, s)
		}
	}
}

func newErr[K comparable, V any](tiers *cache.Tiers, cfg cache.Config[K, V]) error {
	_, err := cache.New(tiers, cfg)
	return err
}

func TestMisuseOfNew(t *testing.T) {
	tiers, closed := open(t, cache.TiersConfig{}), open(t, cache.TiersConfig{})
	must(t, closed.Close(t.Context()))
	with(t, tiers, cache.Config[int64, user]{Namespace: "users"})
	with(t, tiers, cache.Config[int64, user]{Namespace: "posts:v1:eu"})
	shared := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
	with(t, shared, thingConfig{})
	type user struct{ Other int }
	type bad struct{ hidden int }
	_ = bad{}.hidden
	for name, m := range map[string]misuse{
		"zero Config":    {newErr(tiers, cache.Config[int64, user]{}), key.ErrEmpty, []string{"field Namespace", "for example"}},
		"long namespace": {newErr(tiers, cache.Config[int64, user]{Namespace: strings.Repeat("n", 10<<20)}), key.ErrTooLong, []string{"field Namespace", "bytes", "1024", "shorter"}},
		"namespace with an empty part": {newErr(tiers, cache.Config[int64, user]{Namespace: "n::v1"}), key.ErrSeparator,
			[]string{"field Namespace", "5 bytes", "one at a time"}},
		"braces": {newErr(tiers, cache.Config[int64, user]{Namespace: "{n}"}), key.ErrCharacter, []string{"field Namespace", "braces"}},
		"colon in the tenant": {newErr(tiers, cache.Config[int64, user]{Namespace: "n", Tenant: "a:b"}), key.ErrSeparator,
			[]string{"field Tenant", "3 bytes", "no colon"}},
		"nil Tiers":         {newErr(nil, cache.Config[int64, user]{Namespace: "n"}), nil, []string{"Tiers is nil", "Open"}},
		"zero Tiers":        {newErr(new(cache.Tiers), cache.Config[int64, user]{Namespace: "n"}), nil, []string{"zero Tiers", "Open"}},
		"closed Tiers":      {newErr(closed, cache.Config[int64, user]{Namespace: "n"}), cache.ErrClosed, nil},
		"key type":          {newErr(tiers, cache.Config[bad, user]{Namespace: "n"}), key.ErrType, []string{"bad.hidden", "unexported"}},
		"pointers as keys":  {newErr(tiers, cache.Config[*int, int]{Namespace: "n"}), key.ErrType, nil},
		"over-long tenant":  {newErr(tiers, thingConfig{Namespace: "n", Tenant: strings.Repeat("x", key.MaxLen+1)}), key.ErrTooLong, []string{"field Tenant"}},
		"an unknown codec":  {newErr(tiers, thingConfig{Namespace: "n", Codec: foreignCodec{codec.JSON}}), nil, []string{"not registered"}},
		"a policy":          {newErr(tiers, thingConfig{Namespace: "n", Policy: patch{Jitter: new(math.NaN())}}), policy.ErrInvalid, []string{"Jitter"}},
		"policy and tenant": {newErr(tiers, thingConfig{Tenant: "a:b", MaxBatch: -1, Policy: patch{TTL: new(-time.Second), Jitter: new(2.0)}}), nil, []string{"tenant", "MaxBatch", "TTL", "Jitter"}},
		"two value types": {newErr(tiers, cache.Config[int64, string]{Namespace: "users"}), nil,
			[]string{"field Namespace", `"users"`, "cache_test.user", "string", "namespace of its own"}},
		"two value types of one name": {newErr(tiers, cache.Config[int64, user]{Namespace: "users"}), nil,
			[]string{"cache_test.user", "another type of that name"}},
		"two key types": {newErr(tiers, cache.Config[string, user]{Namespace: "users"}), nil, []string{"keys of type int64", "string"}},
		"two codecs": {newErr(tiers, cache.Config[int64, user]{Namespace: "users", Codec: codec.CBOR}), nil,
			[]string{`values of codec "json"`, `"cbor`}},
		"two schemas": {newErr(tiers, cache.Config[int64, user]{Namespace: "users", Schema: "2"}), nil, []string{`schema ""`, `"2"`}},
		"below another": {newErr(tiers, cache.Config[int64, user]{Namespace: "users:v1"}), nil,
			[]string{"field Namespace", `"users" and "users:v1"`, "DeleteAll", `rename the second to "users-v1"`}},
		"above another": {newErr(tiers, cache.Config[int64, user]{Namespace: "posts"}), nil,
			[]string{"field Namespace", `"posts" and "posts:v1:eu"`, "DeleteAll", `rename the second to "posts-v1-eu"`}},
		"LocalOnly beside one that is not": {newErr(shared, thingConfig{Namespace: "things", LocalOnly: true}), nil, []string{"LocalOnly"}}, // it would leave cells
		"several": {newErr(tiers, cache.Config[int64, string]{Namespace: "users", Tenant: "a:b", MaxBatch: -1, Schema: "2"}), nil,
			[]string{"field Tenant", "field MaxBatch", "values of type", "values of schema"}},
	} {
		t.Run(name, m.check)
	}
}

// Caches of one namespace may be made many times if they agree. Namespaces that only look alike
// do not conflict.
func TestNamespacesThatAgree(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	for range 2 {
		for _, n := range []string{"users", "users2", "users-v1", "user", "use", "posts:v1", "posts:v2", "posts:v12"} {
			with(t, tiers, cache.Config[int64, user]{Namespace: n})
		}
	}
	misuse{newErr(tiers, cache.Config[string, user]{Namespace: "refused:v1", MaxBatch: -1}), nil, []string{"MaxBatch"}}.check(t)
	with(t, tiers, cache.Config[int64, user]{Namespace: "refused"}) // a refused namespace is not registered
	crowd(8, func(i int) {
		_, _ = cache.New(tiers, cache.Config[int, int]{Namespace: "crowd:" + strings.Repeat("x", i)})
		_, _ = cache.New(tiers, cache.Config[int, int]{Namespace: "crowd:x"})
	})
}

// foreignCodec is a codec that is not registered with any Tiers.
type foreignCodec struct{ codec.Codec }

func (foreignCodec) ID() string { return "foreign" }

// boundedLog is a custom log with its own Bound.
type boundedLog struct {
	invalidate.Log
	bound time.Duration
}

func (l boundedLog) Bound() time.Duration { return l.bound }

func boundedBy(d time.Duration) invalidate.Log {
	return boundedLog{memlog.New(memlog.Config{}), d}
}

func TestOpenRefuses(t *testing.T) {
	refused := func(cfg cache.TiersConfig, is error, says ...string) misuse {
		tiers, err := cache.Open(cfg)
		if err == nil {
			succeeds(t, tiers.Close(t.Context()))
		}
		return misuse{err, is, says}
	}
	all := map[string]misuse{
		"numbers": refused(
			cache.TiersConfig{MaxLoads: -1, MaxRefreshes: -1, MaxFlights: -1, MaxTenants: -1, MaxAudits: -1, ClaimTTL: time.Microsecond, InvalidateWait: -1}, nil,
			"MaxLoads: -1 is negative: set it to 1 or more, or leave it 0", "MaxRefreshes", "MaxFlights", "MaxTenants", "MaxAudits",
			"ClaimTTL: 1µs is negative or rounds to zero: set it to 1ms or more", "InvalidateWait: -1ns",
		),
		"local tier":  refused(cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1})}, nil, "Local"),
		"codec twice": refused(cache.TiersConfig{Codecs: []codec.Codec{codec.JSON}}, nil, "Codecs"),
		"policies":    refused(cache.TiersConfig{Policies: policy.Table{{Tenant: "a:b"}, {Patch: patch{Jitter: new(math.NaN())}}}}, nil, "Jitter"),
		// A nil pointer in a field is an error, and no panic.
		"nil Local":  refused(cache.TiersConfig{Local: (*local.Tier)(nil)}, nil, "field Local: a nil *local.Tier", "leave the field nil"),
		"nil Remote": refused(cache.TiersConfig{Remote: (*tiertest.Faulty)(nil)}, nil, "field Remote: a nil *tiertest.Faulty", "leave the field nil"),
		"nil Log":    refused(cache.TiersConfig{Log: (*logtest.Faulty)(nil)}, nil, "field Log: a nil *logtest.Faulty", "leave the field nil"),
	}
	// Without a positive bound no lease ever holds, and the pauses between the calls to the log cannot
	// be drawn.
	for _, bound := range []time.Duration{0, -1, -time.Second, time.Millisecond - 1} {
		all["bound "+bound.String()] = refused(cache.TiersConfig{Log: boundedBy(bound), MaxLoads: -1}, invalidate.ErrBound, "field Log", "MaxLoads", bound.String(), "1ms")
	}
	for name, m := range all {
		t.Run(name, m.check)
	}
	equal(t, refused(cache.TiersConfig{Log: boundedBy(time.Millisecond)}, nil).err, nil, "Open with a bound of 1ms")
}

// calls calls every method of a cache that can fail, and returns their errors.
func calls[K comparable](t *testing.T, c cache.Cache[K, string], k K) map[string]error {
	ctx := t.Context()
	_, get := c.Get(ctx, k)
	_, load := c.GetOrLoad(ctx, k, nil)
	_, fetch := c.Fetch(ctx, k, nil)
	_, many := c.GetMany(ctx, []K{k, k})
	if _, ok := c.Peek(ctx, k); ok {
		t.Error("Peek finds something")
	}
	return map[string]error{
		"Get": get, "GetOrLoad": load, "Fetch": fetch, "GetMany": many, "Set": c.Set(ctx, k, "v"),
		"Delete": c.Delete(ctx, k), "Expire": c.Expire(ctx, k), "Refresh": c.Refresh(ctx, k),
	}
}

// Each call with an invalid key or tenant fails before anything is done, and so does each of the zero Cache.
func TestBadKeysAndTenants(t *testing.T) {
	loads := 0
	tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
	c := with(t, tiers, cache.Config[string, string]{Load: func(context.Context, string) (string, error) { loads++; return "v", nil }})
	var zero cache.Cache[string, string]
	for _, tt := range []struct {
		name  string
		cache cache.Cache[string, string]
		key   string
		whole bool // DeleteAll fails, too
		want  misuse
	}{
		{"empty key", c, "", false, misuse{is: key.ErrEmpty}},
		{"over-long key", c, strings.Repeat("x", 10<<20), false, misuse{is: key.ErrTooLong}},
		{"empty tenant", c.Tenant(""), "k", true, misuse{is: key.ErrEmpty}},
		{"colon in the tenant", c.Tenant("a:b"), "k", true, misuse{is: key.ErrSeparator}},
		{"over-long tenant", c.Tenant(strings.Repeat("x", 10<<20)), "k", true, misuse{is: key.ErrTooLong}},
		{"zero Cache", zero, "k", true, misuse{says: []string{"zero Cache"}}},
		{"tenant of a zero Cache", zero.Tenant("acme"), "k", true, misuse{says: []string{"zero Cache"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for method, err := range calls(t, tt.cache, tt.key) {
				if _, ok := errors.AsType[*cache.Error](err); !ok {
					t.Errorf("%s: %v, want an *Error", method, err)
				}
				tt.want.err = err
				tt.want.check(t)
			}
			err := tt.cache.DeleteAll(t.Context())
			if equal(t, err != nil, tt.whole, "DeleteAll fails"); err != nil {
				tt.want.err = err
				tt.want.check(t)
			}
		})
	}
	equal(t, loads, 0, "loads for invalid keys")
}

func TestNoLoader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{})
		_, err := c.Get(t.Context(), 1)
		wantError(t, err, "get", cell1, cache.ErrMiss)
		_, err = c.Fetch(t.Context(), 1, nil)
		wantError(t, err, "get", cell1, cache.ErrMiss)
		wantError(t, c.Refresh(t.Context(), 1), "refresh", cell1, cache.ErrMiss)
		succeeds(t, c.Set(t.Context(), 2, "two"))
		if m, err := c.GetMany(t.Context(), []int{1, 2}); m[2] != "two" || !errors.Is(err, cache.ErrMiss) {
			t.Errorf("GetMany = %v, %v, want two and ErrMiss", m, err)
		}
		if v, err := c.GetOrLoad(t.Context(), 1, (&source{}).load); v != "1.1" || err != nil {
			t.Errorf("GetOrLoad with a loader = %q, %v", v, err)
		}
	})
}

// A call whose context has ended gets local values, and makes no remote call and no load.
func TestContextAlreadyCancelled(t *testing.T) {
	play(t, scene{on: paired, steps: `
		a gets 1.1; a calls any; a gets 1.1 local ended; a many 1.1 ended; a gets cancelled ended key=2; a many cancelled ended key=2
		a calls 0; loads 1`})
}

var errMeter = errors.New("the meter is broken")

type noopMeter = noop.Meter

// brokenMeter is a meter that fails at one step, and its provider.
type brokenMeter struct {
	noop.MeterProvider
	noopMeter
	at string
}

func (b brokenMeter) Meter(string, ...metric.MeterOption) metric.Meter { return b }

func (b brokenMeter) fails(at string) error {
	if at == b.at {
		return errMeter
	}
	return nil
}

func (b brokenMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, b.fails("histogram")
}

func (b brokenMeter) Int64ObservableCounter(string, ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	return noop.Int64ObservableCounter{}, b.fails("counter")
}

func (b brokenMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, b.fails("callback")
}

// A closableLog and a closableLocal count their Close calls.
type (
	closableLog struct {
		invalidate.Log
		closed int
	}
	closableLocal struct {
		tier.Local
		closed int
	}
)

func (c *closableLog) Close() error   { c.closed++; return nil }
func (c *closableLocal) Close() error { c.closed++; return c.Local.Close() }

// An Open that fails leaves no goroutine: the bubble would find it. The log and the local tier
// of the configuration stay open, because the caller owns them.
func TestOpenFailsWithoutTrace(t *testing.T) {
	for _, name := range []string{"limits", "histogram", "counter", "callback"} {
		bubble(t, name, func(t *testing.T) {
			cfg := cache.TiersConfig{MeterProvider: brokenMeter{at: name}}
			if name == "limits" {
				cfg.MaxLoads = -1
			}
			log := &closableLog{Log: memlog.New(memlog.Config{Bound: time.Second})}
			cfg.Log = log
			if _, err := cache.Open(cfg); err == nil || cfg.MaxLoads == 0 && !errors.Is(err, errMeter) {
				t.Errorf("Open = %v, want an error", err)
			}
			mine := &closableLocal{Local: local.New(local.Config{})}
			cfg.Local = mine
			if _, err := cache.Open(cfg); err == nil {
				t.Error("Open with a local tier = nil, want an error")
			}
			if log.closed+mine.closed > 0 {
				t.Errorf("the caller's log was closed %d times, its tier %d times", log.closed, mine.closed)
			}
			_ = mine.Close()
		})
	}
}

// Wrappers that embed an interface.
type (
	plainRemote struct{ tier.Remote }
	nameless    struct{ tier.Remote }
	plainLog    struct{ invalidate.Log }
)

func (nameless) Describe(tier.Remote) (d tier.Description) { return d }

// A log that removes cells gets the tier's name and a function that removes cells from it, also behind
// wrappers. A tier without a name is refused.
func TestLogUsesCells(t *testing.T) {
	named := tiertest.NewMemory()
	for name, tt := range map[string]struct {
		remote tier.Remote
		wrap   func(invalidate.Log) invalidate.Log
		want   string // in the error of Open; "": the log knows the tier
	}{
		"plain":           {remote: named},
		"no remote tier":  {},
		"wrapped":         {remote: plainRemote{named}},
		"wrapped twice":   {remote: plainRemote{plainRemote{named}}},
		"no name":         {remote: nameless{named}, want: "field Remote: a cache_test.nameless has no name"},
		"wrapped log":     {remote: named, wrap: func(l invalidate.Log) invalidate.Log { return &plainLog{plainLog{l}} }},
		"log in a Faulty": {remote: named, wrap: func(l invalidate.Log) invalidate.Log { return logtest.NewFaulty(l) }},
	} {
		bubble(t, name, func(t *testing.T) {
			l := &tableLog{Log: memlog.New(memlog.Config{Bound: time.Second}), tier: "unset"}
			cfg := cache.TiersConfig{Remote: tt.remote, Log: l, Logger: slog.New(slog.DiscardHandler)}
			if tt.wrap != nil {
				cfg.Log = tt.wrap(l)
			}
			tiers, err := cache.Open(cfg)
			if tt.want != "" {
				misuse{err, nil, []string{tt.want}}.check(t)
				return
			}
			must(t, err)
			switch {
			case tt.remote != nil:
				equal(t, l.tier, "memory", "the log's name of the tier")
				must(t, with(t, tiers, thingConfig{}).Set(t.Context(), 1, "v"))
				must(t, l.remove(t.Context(), []string{cell1}))
				equal(t, named.Len(), 0, "cells that are left")
			case tt.wrap == nil && (l.tier != "" || l.remove != nil):
				t.Errorf("without a remote tier the log knows %q and has a function to remove: %v", l.tier, l.remove != nil)
			}
			succeeds(t, tiers.Close(t.Context()))
		})
	}
}
