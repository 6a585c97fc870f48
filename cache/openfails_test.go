package cache_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var errMeter = errors.New("the meter is broken")

// provider returns a meter that fails at one step.
type provider struct {
	noop.MeterProvider
	m metric.Meter
}

func (p provider) Meter(string, ...metric.MeterOption) metric.Meter { return p.m }

type noHistogram struct{ noop.Meter }

func (noHistogram) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, errMeter
}

type noCounter struct{ noop.Meter }

func (noCounter) Int64ObservableCounter(string, ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	return nil, errMeter
}

type noCallback struct{ noop.Meter }

func (noCallback) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return nil, errMeter
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
	for name, cfg := range map[string]cache.TiersConfig{
		"limits":    {MaxLoads: -1},
		"histogram": {MeterProvider: provider{m: noHistogram{}}},
		"counter":   {MeterProvider: provider{m: noCounter{}}},
		"callback":  {MeterProvider: provider{m: noCallback{}}},
	} {
		bubble(t, name, func(t *testing.T) {
			cfg := cfg
			log := &closableLog{Log: logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second})}
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

// boundedLog is a custom log with its own Bound.
type boundedLog struct {
	invalidate.Log
	bound time.Duration
}

func (l boundedLog) Bound() time.Duration { return l.bound }

// Without a positive bound no lease ever holds, and the pauses between the calls to the log cannot
// be drawn.
func TestOpenRefusesBoundOfLog(t *testing.T) {
	for _, bound := range []time.Duration{0, -1, -time.Second, time.Millisecond - 1} {
		log := boundedLog{logtest.NewMemory(logtest.MemoryConfig{}), bound}
		_, err := cache.Open(cache.TiersConfig{Log: log, MaxLoads: -1})
		if !errors.Is(err, invalidate.ErrBound) {
			t.Errorf("Open with a bound of %v = %v, want %v", bound, err, invalidate.ErrBound)
			continue
		}
		for _, want := range []string{"field Log", "MaxLoads", bound.String(), "1ms"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Open with a bound of %v = %v, want it to say %s", bound, err, want)
			}
		}
	}
	log := boundedLog{logtest.NewMemory(logtest.MemoryConfig{}), time.Millisecond}
	tiers, err := cache.Open(cache.TiersConfig{Log: log})
	if err != nil {
		t.Fatalf("Open with a bound of 1ms = %v", err)
	}
	succeeds(t, tiers.Close(t.Context()))
}

// Wrappers that embed an interface. The plain ones hide the optional methods.
type (
	plainRemote struct{ tier.Remote }
	plainLog    struct{ invalidate.Log }
	plainLocal  struct{ tier.Local }
	openRemote  struct{ plainRemote }
	openLog     struct{ plainLog }
	openLocal   struct{ plainLocal }
)

func (o openRemote) Unwrap() tier.Remote { return o.Remote }
func (o openLog) Unwrap() invalidate.Log { return o.Log }
func (o openLocal) Unwrap() tier.Local   { return o.Local }

// A log that removes cells needs the tier's name and its own method, also behind wrappers.
// Otherwise Open fails.
func TestWrappedCells(t *testing.T) {
	named := tiertest.NewMemory()
	for name, tt := range map[string]struct {
		remote tier.Remote
		wrap   func(invalidate.Log) invalidate.Log
		want   string // in the error of Open; "": the log knows the tier
	}{
		"plain":            {remote: named},
		"wrapped":          {remote: openRemote{plainRemote{named}}},
		"wrapped twice":    {remote: openRemote{plainRemote{openRemote{plainRemote{named}}}}},
		"name hidden":      {remote: plainRemote{named}, want: "field Remote: a cache_test.plainRemote has no name"},
		"wrapped log":      {remote: named, wrap: func(l invalidate.Log) invalidate.Log { return openLog{plainLog{l}} }},
		"log in a Faulty":  {remote: named, wrap: func(l invalidate.Log) invalidate.Log { return logtest.NewFaulty(l) }},
		"UseCells hidden":  {remote: named, wrap: func(l invalidate.Log) invalidate.Log { return &plainLog{l} }, want: "field Log: a *cache_test.plainLog hides the method UseCells"},
		"no cells, hidden": {wrap: func(l invalidate.Log) invalidate.Log { return plainLog{l} }},
	} {
		t.Run(name, func(t *testing.T) {
			l := &tableLog{Memory: logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second}), tier: "unset"}
			cfg := cache.TiersConfig{Remote: tt.remote, Log: l, Logger: slog.New(slog.DiscardHandler)}
			if tt.wrap != nil {
				cfg.Log = tt.wrap(l)
			}
			tiers, err := cache.Open(cfg)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "Unwrap() ") {
					t.Errorf("Open = %v, want an error with %q and Unwrap", err, tt.want)
				}
				return
			}
			must(t, err)
			if tt.remote != nil && l.tier != "memory" {
				t.Errorf("the log knows the tier as %q, want memory", l.tier)
			}
			succeeds(t, tiers.Close(t.Context()))
		})
	}
}

// Open says once what wrappers hide, and nothing of what Unwrap shows.
func TestHiddenMethods(t *testing.T) {
	closable := func() invalidate.Log {
		return &closableLog{Log: logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second})}
	}
	for name, tt := range map[string]struct {
		cfg  func() cache.TiersConfig
		want string // in the only warning, separated by |; "": no warning
	}{
		"nothing wrapped": {cfg: func() cache.TiersConfig {
			return cache.TiersConfig{Local: local.New(local.Config{}), Remote: tiertest.NewMemory(), Log: closable()}
		}},
		"own tiers that can do little": {cfg: func() cache.TiersConfig { return cache.TiersConfig{Remote: &deaf{}} }},
		"remote": {
			cfg:  func() cache.TiersConfig { return cache.TiersConfig{Remote: plainRemote{tiertest.NewMemory()}} },
			want: "tier.Batcher of Remote",
		},
		"remote with Unwrap": {
			cfg: func() cache.TiersConfig {
				return cache.TiersConfig{Remote: openRemote{plainRemote{tiertest.NewMemory()}}}
			},
			want: "tier.Batcher of Remote",
		},
		"log": {
			cfg:  func() cache.TiersConfig { return cache.TiersConfig{Log: plainLog{closable()}} },
			want: "io.Closer of Log",
		},
		"log with Unwrap": {cfg: func() cache.TiersConfig { return cache.TiersConfig{Log: openLog{plainLog{closable()}}} }},
		"local": {
			cfg:  func() cache.TiersConfig { return cache.TiersConfig{Local: &plainLocal{local.New(local.Config{})}} },
			want: "tier.EvictNotifier of Local|tier.Meter of Local|tier.Ranger of Local|tier.Validator of Local",
		},
		"local with Unwrap": {cfg: func() cache.TiersConfig {
			return cache.TiersConfig{
				Local: openLocal{plainLocal{local.New(local.Config{})}}, OnRemoved: func(cache.Entry, tier.EvictReason) {},
			}
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			var said strings.Builder
			cfg := tt.cfg()
			cfg.Logger = slog.New(slog.NewTextHandler(&said, nil))
			tiers, err := cache.Open(cfg)
			must(t, err)
			lines := strings.Count(said.String(), "a wrapper hides methods")
			for part := range strings.SplitSeq(tt.want, "|") {
				if lines > 1 || lines == 0 && part != "" || lines > 0 && part == "" || !strings.Contains(said.String(), part) {
					t.Errorf("Open said %q, want one line with %q", said.String(), part)
				}
			}
			succeeds(t, tiers.Close(t.Context()))
			if l, ok := cfg.Log.(openLog); ok && l.Log.(*closableLog).closed != 1 {
				t.Error("Close did not close the wrapped log")
			}
		})
	}
}

// A nil pointer in a field is an error of Open, not a panic.
func TestNilParts(t *testing.T) {
	for want, cfg := range map[string]cache.TiersConfig{
		"field Local: a nil *local.Tier":       {Local: (*local.Tier)(nil)},
		"field Remote: a nil *tiertest.Faulty": {Remote: (*tiertest.Faulty)(nil)},
		"field Log: a nil *logtest.Faulty":     {Log: (*logtest.Faulty)(nil)},
	} {
		cfg.OnRemoved = func(cache.Entry, tier.EvictReason) {}
		if _, err := cache.Open(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "leave the field nil") {
			t.Errorf("Open = %v, want an error with %q", err, want)
		}
	}
}

// deaf is a remote tier that answers nothing and can do no more than it must.
type deaf struct{}

func (*deaf) Get(context.Context, string) ([]byte, error) { return nil, errRemote }
func (*deaf) Claim(context.Context, string, tier.Claim) (tier.Claimed, error) {
	return tier.Claimed{}, errRemote
}
func (*deaf) Fill(context.Context, string, tier.Fill) (bool, error) { return false, errRemote }
func (*deaf) Unlink(context.Context, ...string) error               { return errRemote }
