package measure

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/remote"
)

const scopeName = "github.com/twofold-go/twofold/cache"

// Telemetry holds the instruments. Local hits are counted in the cache's own counters, which a
// callback reads; an OpenTelemetry Add would cost more than the hit. Spans and histograms belong
// to the paths that load, fetch or wait.
type Telemetry struct {
	Notable *atomic.Int64 // see Sampled
	rest    *Counters     // of calls without a namespace
	tracer  Tracer
	meter   *Meter
	reg     metric.Registration // nil until Observe has succeeded

	remoteTime, loadTime, staleAge, logLag metric.Float64Histogram
	getTime, auditAge                      metric.Float64Histogram
	valueBytes                             metric.Int64Histogram
}

// These options are made once, because making one costs more than using it.
var (
	opAttrs = [...]metric.MeasurementOption{
		Attr("op", "get"), Attr("op", "claim"), Attr("op", "fill"), Attr("op", "remove"),
	}
	asClient = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
)

// New returns the telemetry of one process. A nil provider means the global one. rest counts what
// belongs to no namespace. Telemetry stores in notable which local hits are noted.
func New(mp metric.MeterProvider, tp trace.TracerProvider, rest *Counters, notable *atomic.Int64) (*Telemetry, error) {
	m := NewMeter(mp, scopeName)
	o := &Telemetry{
		Notable: notable, rest: rest, tracer: NewTracer(tp, scopeName), meter: m,
		getTime:    m.Seconds("cache.get.duration", "Time a caller of Get, GetOrLoad or Fetch waited.", 1e-6, 1e-5, 5e-5),
		remoteTime: m.Seconds("cache.remote.duration", "Time of one call to the remote tier."),
		loadTime:   m.Seconds("cache.load.duration", "Time of one loader call."),
		staleAge:   m.Seconds("cache.staleness.age", "How far past its freshness a stale value was when it was served."),
		auditAge:   m.Seconds("cache.audit.age", "How long ago the value of a stale hit was loaded."),
		logLag:     m.Seconds("cache.invalidate.lag", "Time invalidations took from the log to this process."),
		valueBytes: m.Sizes("cache.value.size", "By", "Encoded size of values from and to the remote tier.",
			64, 256, 1<<10, 4<<10, 16<<10, 64<<10, 256<<10, 1<<20, 4<<20),
	}
	o.Tracing()
	return o, m.Err()
}

// Observe registers one callback that reads snapshots. The callback may run immediately, so
// everything that read needs must exist by now. Without a log, its instruments have no numbers.
func (o *Telemetry) Observe(read func() Snapshot, logged bool) (err error) {
	spaces, tiers := Add(o.meter, ofSpace), Add(o.meter, ofTiers)
	failed, rest := Add(o.meter, ofRemote), Add(o.meter, ofRest)
	local, log := Add(o.meter, ofLocal), Add(o.meter, ofLog)
	o.reg, err = o.meter.Register(func(ob metric.Observer) {
		s := read()
		for i := range s.Spaces {
			c := &s.Spaces[i]
			attrs := spaceAttributes(c.Namespace, c.Tenant)
			spaces(ob, &c.Numbers, attrs...)
			failed(ob, &c.Numbers, attrs...)
		}
		failed(ob, &s.Rest)
		rest(ob, &s.Rest)
		tiers(ob, &s)
		local(ob, &s)
		if logged {
			log(ob, s.Log)
		}
	})
	return err
}

// Close ends the callback of Observe.
func (o *Telemetry) Close() error { return o.reg.Unregister() }

// Begin begins a span of one call to the remote tier. It implements [remote.Watcher].
func (o *Telemetry) Begin(ctx context.Context, op remote.Op) (context.Context, trace.Span) {
	if !o.Tracing() {
		return ctx, nil
	}
	ctx, s := o.tracer.Start(ctx, "cache.remote."+op.String(), asClient...)
	return ctx, s.span
}

// End implements [remote.Watcher]. A call that belongs to no namespace, such as the removal of
// cells of several, has no counters.
func (o *Telemetry) End(ctx context.Context, op remote.Op, of any, s trace.Span, took time.Duration, err error, left bool) {
	c, _ := of.(*Counters)
	if o.remoteTime.Enabled(ctx) {
		if c == nil {
			o.remoteTime.Record(ctx, took.Seconds(), opAttrs[op])
		} else {
			o.remoteTime.Record(ctx, took.Seconds(), c.measures().remote[op]...)
		}
	}
	failed := err != nil && !left
	if failed {
		cmp.Or(c, o.rest).Inc(RemoteErrGet + Stat(op))
	}
	Span{s}.End(failed, "remote tier failed")
}

// SpanOf returns the span of ctx, or nil.
func SpanOf(ctx context.Context) *trace.SpanContext {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() {
		return nil
	}
	return &s
}

// Tracing reports whether spans are recorded. Call it before making their options. It stores the
// answer for local hits, which cannot afford the question. A global provider may be set at any
// time.
func (o *Telemetry) Tracing() bool {
	on, which := o.tracer.On(), int64(Sampled-1)
	if on {
		which = 0
	}
	if which != o.Notable.Load() {
		o.Notable.Store(which)
	}
	return on
}

// LoadStart begins the span of one loader call. With apart, the load outlives the call that caused
// it, so its span is a root with a link to that call.
func (o *Telemetry) LoadStart(ctx context.Context, c *Counters, name string, apart bool) (context.Context, func(failed bool)) {
	opts := c.span
	if apart {
		opts = append(slices.Clip(opts), trace.WithNewRoot(), trace.WithLinks(trace.LinkFromContext(ctx)))
	}
	ctx, span := o.tracer.Start(ctx, name, opts...)
	return ctx, func(failed bool) { span.End(failed, "load failed") }
}

// LoadEnd records a loader call.
func (o *Telemetry) LoadEnd(ctx context.Context, c *Counters, took time.Duration, failed bool) {
	if o.loadTime.Enabled(ctx) {
		o.loadTime.Record(ctx, took.Seconds(), c.measures().space...)
	}
	if failed {
		c.Inc(LoadFailed)
	}
}

// InvalidateStart begins the span of an invalidation.
func (o *Telemetry) InvalidateStart(ctx context.Context, scopes int) (context.Context, func(error)) {
	var span Span
	if o.Tracing() {
		ctx, span = o.tracer.Start(ctx, "cache.invalidate", trace.WithAttributes(attribute.Int("cache.scopes", scopes)))
	}
	return ctx, func(err error) { span.End(err != nil, "remote tier failed") }
}

// Lag records the time that an invalidation took from the log to this process.
func (o *Telemetry) Lag(d time.Duration) { o.logLag.Record(context.Background(), d.Seconds()) }

// AuditAge records how long ago the value of a stale hit was loaded.
func (o *Telemetry) AuditAge(ctx context.Context, c *Counters, age time.Duration) {
	if o.auditAge.Enabled(ctx) {
		o.auditAge.Record(ctx, max(age, 0).Seconds(), c.measures().space...)
	}
}
