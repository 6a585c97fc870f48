package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// The errors of a [Consumer].
var (
	// ErrClosed is returned by calls that come after Close.
	ErrClosed = errors.New("pipeline: consumer is closed")

	// ErrOvertaken says that what a warm-up has loaded may be older than an
	// invalidation. It is also the cause of the end of that warm-up's context.
	ErrOvertaken = errors.New("pipeline: warm-up was overtaken by an invalidation")

	// ErrPanic stands for what a stage or a warm-up panicked with, which may be
	// a value and so is neither returned nor logged. The stack is logged.
	ErrPanic = errors.New("pipeline: panic")
)

// StageError says which stage failed, and why. The events are kept.
type StageError struct {
	Stage string // its name
	Err   error  // what it returned, or ErrPanic
}

// Error names the stage.
func (e *StageError) Error() string { return fmt.Sprintf("stage %s: %v", e.Stage, e.Err) }

// Unwrap returns why the stage failed.
func (e *StageError) Unwrap() error { return e.Err }

// Stage is one layer of what is cached.
type Stage struct {
	// Name is for errors, logs and metrics, such as "objects". Never empty, and
	// no two stages share one.
	Name string

	// Invalidate makes sure that nothing that is made of one of the entities, or
	// nothing whatever when all is set, is served from this layer if it was
	// loaded before the call; nor later, if a load that began before ends after.
	// The slice belongs to it. It may be called again for what it has done
	// already, and with an error it is. One call of a Consumer's runs at a time.
	Invalidate func(ctx context.Context, entities []string, all bool) error
}

// Config says how a [Consumer] works. Stages is all it needs.
type Config struct {
	// Stages are invalidated in order, lowest first: what is built from another
	// layer must come after it, or it is built anew from what is stale.
	Stages []Stage

	// Warm does one warm-up; see [Warmup]. Several run at a time. Nil: events'
	// Warms are ignored.
	Warm func(ctx context.Context, w *Warmup) error

	// Batch bounds the events of one plan. 0: 100.
	Batch int

	// Window is how often Run looks for what no writer has consumed. 0: 5 s.
	Window time.Duration

	// StageTimeout bounds each call of a stage, and the wait for warm-ups that
	// are storing what the plan invalidates. 0: 10 s.
	StageTimeout time.Duration

	// Debounce is how long a warm-up waits for another request of its name,
	// which makes it wait again, ten times as long in all. 0: 250 ms; negative:
	// it does not wait.
	Debounce time.Duration

	// WarmTimeout bounds one warm-up. 0: 30 s.
	WarmTimeout time.Duration

	// MaxWarming bounds the warm-ups that run at a time. 0: 2.
	MaxWarming int

	// MaxWarms bounds the names that wait for a warm-up or are in one. Requests
	// beyond it are dropped and counted. 0: 1,024.
	MaxWarms int

	// Recent is how many rounds Recent tells of. 0: 32.
	Recent int

	// Off is the switch that Disable and Enable turn: consume nothing, because
	// nothing is cached.
	Off bool

	// Logger gets failures with the errors of the stages and warm-ups, overflows
	// and panics; no entity, subject or key, and names of warm-ups that failed.
	// Nil: slog.Default.
	Logger *slog.Logger

	// MeterProvider is where the instruments are made. Nil: the global one of
	// OpenTelemetry, which does nothing until it is set.
	MeterProvider metric.MeterProvider
}

// complete fills in the defaults and names every fault.
func (cfg *Config) complete() error {
	var errs []error
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"Batch", int64(cfg.Batch)}, {"Window", int64(cfg.Window)}, {"StageTimeout", int64(cfg.StageTimeout)},
		{"WarmTimeout", int64(cfg.WarmTimeout)}, {"MaxWarming", int64(cfg.MaxWarming)},
		{"MaxWarms", int64(cfg.MaxWarms)}, {"Recent", int64(cfg.Recent)},
	} {
		if f.n < 0 {
			errs = append(errs, fmt.Errorf("field %s is negative", f.name))
		}
	}
	cfg.Batch = cmp.Or(cfg.Batch, 100)
	cfg.Window = cmp.Or(cfg.Window, 5*time.Second)
	cfg.StageTimeout = cmp.Or(cfg.StageTimeout, 10*time.Second)
	cfg.Debounce = max(cmp.Or(cfg.Debounce, 250*time.Millisecond), 0)
	cfg.WarmTimeout = cmp.Or(cfg.WarmTimeout, 30*time.Second)
	cfg.MaxWarming = cmp.Or(cfg.MaxWarming, 2)
	cfg.MaxWarms = cmp.Or(cfg.MaxWarms, 1024)
	cfg.Recent = cmp.Or(cfg.Recent, 32)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	return errors.Join(append(errs, validStages(cfg.Stages))...)
}

func validStages(stages []Stage) error {
	var errs []error
	if len(stages) == 0 {
		errs = append(errs, errors.New("field Stages is empty"))
	}
	names := map[string]bool{}
	for i, s := range stages {
		if s.Name == "" || names[s.Name] {
			errs = append(errs, fmt.Errorf("stage %d: name %q is empty or taken", i, s.Name))
		}
		names[s.Name] = true
		if s.Invalidate == nil {
			errs = append(errs, fmt.Errorf("stage %d: Invalidate is nil", i))
		}
	}
	return errors.Join(errs...)
}
