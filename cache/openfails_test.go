package cache_test

import (
	"errors"
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
