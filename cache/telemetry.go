package cache

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/meter"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/unwrap"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
)

const scopeName = "github.com/twofold-go/twofold/cache"

// telemetry holds the instruments. Local hits are counted in the cache's own counters, which a
// callback reads; an OpenTelemetry Add would cost more than the hit. Spans and histograms belong
// to the paths that load, fetch or wait.
type telemetry struct {
	t      *Tiers
	tracer meter.Tracer
	meter  *meter.Meter
	reg    metric.Registration // nil until observe has succeeded

	remoteTime, loadTime, staleAge, logLag metric.Float64Histogram
	getTime, auditAge                      metric.Float64Histogram
	valueBytes                             metric.Int64Histogram
}

// These options are made once, because making one costs more than using it.
var (
	opAttrs = [...]metric.MeasurementOption{
		meter.Attr("op", "get"), meter.Attr("op", "claim"), meter.Attr("op", "fill"), meter.Attr("op", "unlink"),
	}
	asClient = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
)

func newTelemetry(t *Tiers) (*telemetry, error) {
	m := meter.New(t.cfg.MeterProvider, scopeName)
	return &telemetry{
		t: t, tracer: meter.NewTracer(t.cfg.TracerProvider, scopeName), meter: m,
		getTime:    m.Seconds("cache.get.duration", "Time a caller of Get, GetOrLoad or Fetch waited.", 1e-6, 1e-5, 5e-5),
		remoteTime: m.Seconds("cache.remote.duration", "Time of one call to the remote tier."),
		loadTime:   m.Seconds("cache.load.duration", "Time of one loader call."),
		staleAge:   m.Seconds("cache.staleness.age", "How far past its freshness a stale value was when it was served."),
		auditAge:   m.Seconds("cache.audit.age", "How long ago the value of a stale hit was loaded."),
		logLag:     m.Seconds("cache.invalidate.lag", "Time invalidations took from the log to this process."),
		valueBytes: m.Sizes("cache.value.size", "By", "Encoded size of values from and to the remote tier.",
			64, 256, 1<<10, 4<<10, 16<<10, 64<<10, 256<<10, 1<<20, 4<<20),
	}, m.Err()
}

func (o *telemetry) close() error { return o.reg.Unregister() }

// Begin begins a span of one call to the remote tier. It implements [remote.Watcher].
func (o *telemetry) Begin(ctx context.Context, op remote.Op) (context.Context, meter.Span) {
	if !o.tracing() {
		return ctx, meter.Span{}
	}
	return o.tracer.Start(ctx, "cache.remote."+op.String(), asClient...)
}

// End implements [remote.Watcher]. A call that belongs to no namespace, such as the removal of
// cells of several, has no counters.
func (o *telemetry) End(ctx context.Context, op remote.Op, of any, s meter.Span, took time.Duration, err error, left bool) {
	c, _ := of.(*counters)
	if o.remoteTime.Enabled(ctx) {
		if c == nil {
			o.remoteTime.Record(ctx, took.Seconds(), opAttrs[op])
		} else {
			o.remoteTime.Record(ctx, took.Seconds(), c.measures().remote[op]...)
		}
	}
	failed := err != nil && !left
	if failed {
		cmp.Or(c, o.t.all).inc(remoteErrGet + stat(op))
	}
	s.End(failed, "remote tier failed")
}

// spanOf returns the span of ctx, or nil.
func spanOf(ctx context.Context) *trace.SpanContext {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() {
		return nil
	}
	return &s
}

// tracing reports whether spans are recorded. Call it before making their options. It stores the
// answer for local hits, which cannot afford the question. A global provider may be set at any
// time.
func (o *telemetry) tracing() bool {
	on, which := o.tracer.On(), int64(sampled-1)
	if on {
		which = 0
	}
	if which != o.t.notable.Load() {
		o.t.notable.Store(which)
	}
	return on
}

// loadStart begins the span of one loader call. A refresh outlives the call that caused it, so
// its span is a root with a link to that call.
func (o *telemetry) loadStart(ctx context.Context, v *view, refresh bool) (context.Context, func(error, *PanicError)) {
	name, opts := "cache.load", v.counts.span
	if refresh {
		name = "cache.refresh"
		opts = append(slices.Clip(opts), trace.WithNewRoot(), trace.WithLinks(trace.LinkFromContext(ctx)))
	}
	ctx, span := o.tracer.Start(ctx, name, opts...)
	return ctx, func(err error, p *PanicError) { span.End(isFailure(err, p), "load failed") }
}

func (o *telemetry) loadEnd(ctx context.Context, v *view, took time.Duration, err error, p *PanicError) {
	if o.loadTime.Enabled(ctx) {
		o.loadTime.Record(ctx, took.Seconds(), v.counts.measures().space...)
	}
	if isFailure(err, p) {
		v.counts.inc(loadFailed)
	}
}

func isFailure(err error, p *PanicError) bool {
	return p != nil || (err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNotModified))
}

func (o *telemetry) invalidateStart(ctx context.Context, scopes int) (context.Context, func(error)) {
	var span meter.Span
	if o.tracing() {
		ctx, span = o.tracer.Start(ctx, "cache.invalidate", trace.WithAttributes(attribute.Int("cache.scopes", scopes)))
	}
	return ctx, func(err error) { span.End(err != nil, "remote tier failed") }
}

func (o *telemetry) valueSize(c *counters, dir direction, n int) {
	if ctx := context.Background(); o.valueBytes.Enabled(ctx) {
		o.valueBytes.Record(ctx, int64(n), c.measures().size[dir]...)
	}
}

func (o *telemetry) lag(d time.Duration) { o.logLag.Record(context.Background(), d.Seconds()) }

// staleness records how far past its freshness a served value was.
func (o *telemetry) staleness(c *counters, ns int64) {
	if ctx := context.Background(); o.staleAge.Enabled(ctx) {
		o.staleAge.Record(ctx, float64(max(ns, 0))/1e9, c.measures().space...)
	}
}

// observe registers one callback that reads the numbers of Stats. The callback may run at once,
// so everything that Stats reads exists by now. Without a log, its instruments have no numbers.
// The same holds for a local tier that is no tier.Meter.
func (o *telemetry) observe() (err error) {
	spaces, tiers := meter.Add(o.meter, ofSpace), meter.Add(o.meter, ofTiers)
	failed, rest := meter.Add(o.meter, ofRemote), o.t.all
	audits := meter.Add(o.meter, ofAudits)
	local, log := meter.Add(o.meter, ofLocal), meter.Add(o.meter, ofLog)
	_, measured := unwrap.As[tier.Meter](o.t.local)
	o.reg, err = o.meter.Register(func(ob metric.Observer) {
		s := o.t.Stats()
		for i := range s.Spaces {
			c := &s.Spaces[i]
			attrs := spaceAttributes(key.Space{Tenant: c.Tenant, Namespace: c.Namespace})
			spaces(ob, &c.Counts, attrs...)
			failed(ob, &c.Remote, attrs...)
			audits(ob, &c.Audits, attrs...)
		}
		failed(ob, new(rest.remote()))
		tiers(ob, &s)
		if measured {
			local(ob, s.Local)
		}
		if o.t.follower != nil {
			log(ob, s.Log)
		}
	})
	return err
}

// countStale counts a stale value that was served, and how far past its freshness it was.
func (t *Tiers) countStale(c *counters, r staleReason, over int64) {
	if r == notStale {
		return
	}
	c.inc(staleRevalidate + stat(r-revalidating))
	t.seen.staleness(c, over)
}
