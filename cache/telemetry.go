package cache

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/twofold-go/twofold/tier"
)

const scopeName = "github.com/twofold-go/twofold/cache"

// telemetry holds the instruments. What happens on a local hit is counted in
// the cache's own counters and read by a callback; an OpenTelemetry Add on a
// hit would cost more than the hit. Spans and histograms belong to the paths
// that load, fetch or wait.
type telemetry struct {
	t      *Tiers
	tracer trace.Tracer
	meter  metric.Meter
	reg    metric.Registration

	remoteTime, loadTime, staleAge, logLag metric.Float64Histogram
	valueBytes                             metric.Int64Histogram
}

// remoteOp is a kind of call to the remote tier.
type remoteOp int

const (
	opGet remoteOp = iota
	opClaim
	opFill
	opUnlink
)

func (o remoteOp) String() string { return [...]string{"get", "claim", "fill", "unlink"}[o] }

// sizeDir is the direction of a value between this process and the remote tier.
type sizeDir int

const (
	sizeIn sizeDir = iota
	sizeOut
)

// Attribute sets are made once: making one costs more than recording with it.
var (
	opAttrs = [...]metric.MeasurementOption{
		metric.WithAttributes(attribute.String("op", "get")),
		metric.WithAttributes(attribute.String("op", "claim")),
		metric.WithAttributes(attribute.String("op", "fill")),
		metric.WithAttributes(attribute.String("op", "unlink")),
	}
	dirAttrs = [...][]metric.RecordOption{
		{metric.WithAttributes(attribute.String("dir", "in"))},
		{metric.WithAttributes(attribute.String("dir", "out"))},
	}
	seconds = metric.WithExplicitBucketBoundaries(
		.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10)
)

func newTelemetry(t *Tiers) (*telemetry, error) {
	mp, tp := t.cfg.MeterProvider, t.cfg.TracerProvider
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	if tp == nil {
		tp = otel.GetTracerProvider()
	}
	o := &telemetry{t: t, tracer: tp.Tracer(scopeName)}
	m := mp.Meter(scopeName)
	var errs [5]error
	o.remoteTime, errs[0] = m.Float64Histogram("cache.remote.duration", metric.WithUnit("s"), seconds,
		metric.WithDescription("Time of one call to the remote tier."))
	o.loadTime, errs[1] = m.Float64Histogram("cache.load.duration", metric.WithUnit("s"), seconds,
		metric.WithDescription("Time of one loader call."))
	o.staleAge, errs[2] = m.Float64Histogram("cache.staleness.age", metric.WithUnit("s"), seconds,
		metric.WithDescription("How far past its freshness a stale value was when it was served."))
	o.valueBytes, errs[3] = m.Int64Histogram("cache.value.size", metric.WithUnit("By"),
		metric.WithExplicitBucketBoundaries(64, 256, 1<<10, 4<<10, 16<<10, 64<<10, 256<<10, 1<<20, 4<<20),
		metric.WithDescription("Encoded size of values from and to the remote tier."))
	o.logLag, errs[4] = m.Float64Histogram("cache.invalidate.lag", metric.WithUnit("s"), seconds,
		metric.WithDescription("Time invalidations took from the log to this process."))
	o.meter = m
	return o, errors.Join(errs[:]...)
}

func (o *telemetry) close() error { return o.reg.Unregister() }

// remoteSpan is the span and the measurement of one remote call.
type remoteSpan struct {
	trace.Span // nil: nobody looks at it
	op         remoteOp
	start      time.Time
}

// remoteStart begins a span and a measurement of one remote call.
func (o *telemetry) remoteStart(ctx context.Context, op remoteOp) (context.Context, remoteSpan) {
	s := remoteSpan{op: op, start: time.Now()}
	if o.tracing() {
		//nolint:spancheck // remoteEnd ends it
		ctx, s.Span = o.tracer.Start(ctx, "cache.remote."+op.String(), trace.WithSpanKind(trace.SpanKindClient))
	}
	return ctx, s
}

// remoteEnd ends what remoteStart began. Left says that the call was given up, which is no
// error of the tier's.
func (o *telemetry) remoteEnd(ctx context.Context, s remoteSpan, err error, left bool) {
	if o.remoteTime.Enabled(ctx) {
		o.remoteTime.Record(ctx, time.Since(s.start).Seconds(), opAttrs[s.op])
	}
	if err != nil && !left {
		o.t.all.inc(remoteErrGet + stat(s.op))
	}
	if s.Span == nil {
		return
	}
	if err != nil && !left {
		s.SetStatus(codes.Error, "remote tier failed")
	}
	s.End()
}

// idle are the types of the tracer providers that do nothing: the one that package
// otel begins with, until it is given another, and the one that is made for it.
var idle = func() []reflect.Type {
	types := []reflect.Type{reflect.TypeFor[noop.TracerProvider]()}
	first := reflect.TypeOf(otel.GetTracerProvider()) // unless somebody's init was quicker
	if first.Kind() == reflect.Pointer && strings.HasSuffix(first.Elem().PkgPath(), "otel/internal/global") {
		types = append(types, first)
	}
	return types
}()

// spanOf returns the span that ctx is in, or nil.
func spanOf(ctx context.Context) *trace.SpanContext {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() {
		return nil
	}
	return &s
}

// tracing reports whether anybody may look at spans. Starting one for nobody costs
// four allocations.
func (o *telemetry) tracing() bool {
	tp := o.t.cfg.TracerProvider
	if tp == nil {
		tp = otel.GetTracerProvider()
	}
	return !slices.Contains(idle, reflect.TypeOf(tp))
}

// loadStart begins the span of one loader call. A refresh outlives what caused
// it, so its span is a root that links back.
func (o *telemetry) loadStart(ctx context.Context, v *view, refresh bool) (context.Context, func(error, *PanicError)) {
	name, opts := "cache.load", v.counts.span
	if refresh {
		name = "cache.refresh"
		opts = append(slices.Clip(opts), trace.WithNewRoot(), trace.WithLinks(trace.LinkFromContext(ctx)))
	}
	//nolint:spancheck // the returned function ends it
	ctx, span := o.tracer.Start(ctx, name, opts...)
	return ctx, func(err error, p *PanicError) { //nolint:spancheck // see above
		if isFailure(err, p) {
			span.SetStatus(codes.Error, "load failed") // not the error's text: it may quote the value
		}
		span.End()
	}
}

// loadEnd does the accounts of one loader call.
func (o *telemetry) loadEnd(ctx context.Context, v *view, took time.Duration, err error, p *PanicError) {
	o.loadTime.Record(ctx, took.Seconds(), v.counts.metric...)
	if isFailure(err, p) {
		v.counts.inc(loadFailed)
	}
}

func isFailure(err error, p *PanicError) bool {
	return p != nil || (err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNotModified))
}

// invalidateStart begins a span of one invalidation.
func (o *telemetry) invalidateStart(ctx context.Context, scopes int) (context.Context, func(error)) {
	//nolint:spancheck // the returned function ends it
	ctx, span := o.tracer.Start(ctx, "cache.invalidate", trace.WithAttributes(attribute.Int("cache.scopes", scopes)))
	return ctx, func(err error) { //nolint:spancheck // see above
		if err != nil {
			span.SetStatus(codes.Error, "remote tier failed")
		}
		span.End()
	}
}

func (o *telemetry) valueSize(dir sizeDir, n int) {
	if ctx := context.Background(); o.valueBytes.Enabled(ctx) {
		o.valueBytes.Record(ctx, int64(n), dirAttrs[dir]...)
	}
}

func (o *telemetry) lag(d time.Duration) { o.logLag.Record(context.Background(), d.Seconds()) }

// staleness records by how much a value that was served was past its time.
func (o *telemetry) staleness(ns int64) {
	if ctx := context.Background(); o.staleAge.Enabled(ctx) {
		o.staleAge.Record(ctx, float64(max(ns, 0))/1e9)
	}
}

// counter says how a group of counters is observed: one instrument, one
// attribute, and a value of it for each.
type counter struct {
	name, attr, desc string
	stats            []stat
	values           []string
}

var observed = []counter{
	{"cache.miss", "", "Reads that went to the loader.", []stat{misses}, nil},
	{"cache.merge", "", "Reads that waited for another read's fetch or load.", []stat{merges}, nil},
	{"cache.load", "", "Loader calls.", []stat{loads}, nil},
	{"cache.load.error", "", "Loader calls that failed.", []stat{loadFailed}, nil},
	{"cache.load.panic", "", "Loader calls that failed by a panic.", []stat{loadPanics}, nil},
	{"cache.load.overtaken", "outcome", "Loads overtaken by an invalidation.", []stat{reloads, overtaken}, []string{"repeated", "given_up"}},
	{"cache.evict", "", "Entries pushed out of the local tier.", []stat{evictions}, nil},
	{"cache.negative", "", "Reads answered with a remembered absence or error.", []stat{negatives}, nil},
	{"cache.stale_served", "reason", "Stale values served.", []stat{staleRevalidate, staleError, staleTimeout}, []string{"revalidate", "error", "timeout"}},
	{
		"cache.refresh", "outcome", "Background refreshes.",
		[]stat{refreshOK, refreshAdopted, refreshFailed, refreshSkipped, refreshElsewhere},
		[]string{"ok", "adopted", "error", "skipped", "elsewhere"},
	},
	{
		"cache.fill", "outcome", "What became of loaded values.",
		[]stat{fillStored, fillLost, fillFailed, fillTooLarge, fillUnencodable, fillTags, fillNotAdmitted, fillNoStore, fillUnregistered},
		[]string{"stored", "lost", "error", "too_large", "unencodable", "tags", "not_admitted", "no_store", "unregistered"},
	},
	{
		"cache.cell.refused", "reason", "Remote values that were not served.",
		[]stat{cellCorrupt, cellForeign, cellRefused}, []string{"corrupt", "foreign", "invalidated"},
	},
	{"cache.invalidate", "kind", "Invalidations.", []stat{invalidatedKeys, invalidatedPrefixes, invalidatedTags}, []string{"key", "prefix", "tag"}},
	{
		"cache.remote.error", "op", "Remote calls that failed.",
		[]stat{remoteErrGet, remoteErrClaim, remoteErrFill, remoteErrUnlink}, []string{"get", "claim", "fill", "unlink"},
	},
}

// observe registers one callback that reads every counter and gauge. Somebody
// may be reading at once, so all that it looks at is there by now.
func (o *telemetry) observe() (err error) {
	o.reg, err = o.register(o.meter)
	return err
}

func (o *telemetry) register(m metric.Meter) (metric.Registration, error) {
	var errs []error
	var all []metric.Observable
	count := func(name, desc string) metric.Int64ObservableCounter {
		c, err := m.Int64ObservableCounter(name, metric.WithDescription(desc))
		errs, all = append(errs, err), append(all, c)
		return c
	}
	gauge := func(name, unit, desc string) metric.Int64ObservableGauge {
		g, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(desc))
		errs, all = append(errs, err), append(all, g)
		return g
	}
	hits := count("cache.hit", "Reads answered by a tier.")
	groups := make([]metric.Int64ObservableCounter, len(observed))
	for i, c := range observed {
		groups[i] = count(c.name, c.desc)
	}
	bytes := gauge("cache.local.bytes", "By", "Size of the local tier.")
	entries := gauge("cache.local.entries", "{entry}", "Entries of the local tier.")
	log, fences := o.t.observeLog(count, gauge), o.t.observeFences(count, gauge)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m.RegisterCallback(func(_ context.Context, ob metric.Observer) error {
		for _, c := range o.t.snapshot() {
			base := c.attributes()
			if c != o.t.all {
				ob.ObserveInt64(hits, c.hitsLocal(), with(base, "tier", "local"))
				ob.ObserveInt64(hits, c.get(hitsRemote), with(base, "tier", "remote"))
			}
			for i := range observed {
				observed[i].observe(ob, groups[i], c, base, c == o.t.all)
			}
		}
		if u, ok := o.t.local.(tier.Meter); ok {
			b, n := u.Usage()
			ob.ObserveInt64(bytes, b)
			ob.ObserveInt64(entries, n)
		}
		log(ob)
		fences(ob)
		return nil
	}, all...)
}

// observe reports the group's counters. Those from invalidatedKeys on belong to
// the tiers, the others to a namespace.
func (g *counter) observe(ob metric.Observer, to metric.Int64ObservableCounter, c *counters, base []attribute.KeyValue, tiers bool) {
	for i, s := range g.stats {
		switch {
		case tiers != (s >= invalidatedKeys):
		case g.attr == "":
			ob.ObserveInt64(to, c.get(s), metric.WithAttributes(base...))
		default:
			ob.ObserveInt64(to, c.get(s), with(base, g.attr, g.values[i]))
		}
	}
}

// newCounters returns counters with the options that every span and
// measurement of theirs carries.
func newCounters(namespace, tenant string) *counters {
	c := &counters{namespace: namespace, tenant: tenant}
	c.span = []trace.SpanStartOption{trace.WithAttributes(c.attributes()...)}
	c.metric = []metric.RecordOption{metric.WithAttributes(attribute.String("cache.namespace", namespace))}
	return c
}

func (c *counters) attributes() []attribute.KeyValue {
	if c.namespace == "" {
		return nil
	}
	return []attribute.KeyValue{
		attribute.String("cache.namespace", c.namespace), attribute.String("cache.tenant", c.tenant),
	}
}

func with(base []attribute.KeyValue, k, v string) metric.ObserveOption {
	return metric.WithAttributes(append(slices.Clip(base), attribute.String(k, v))...)
}
