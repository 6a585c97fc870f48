package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// watched is Tiers whose telemetry is recorded.
type watched struct {
	*cache.Tiers
	reader *metric.ManualReader
	spans  *tracetest.SpanRecorder
	tracer trace.Tracer
	log    lockedBuffer
}

func watch(t *testing.T, cfg cache.TiersConfig) *watched {
	t.Helper()
	w := &watched{reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans))
	cfg.MeterProvider = metric.NewMeterProvider(metric.WithReader(w.reader))
	cfg.TracerProvider = tp
	cfg.Logger = slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.tracer = tp.Tracer("test")
	w.Tiers = open(t, cfg)
	return w
}

// numbers returns every data point that is not zero, by "name{attributes}". Sums and gauges have
// their values, ages are in ms, and histograms have their counts.
func (w *watched) numbers(t *testing.T) map[string]int64 {
	t.Helper()
	var rm metricdata.ResourceMetrics
	must(t, w.reader.Collect(t.Context(), &rm))
	out := map[string]int64{}
	add := func(name string, set attribute.Set, n int64) {
		if n != 0 {
			out[name+"{"+set.Encoded(attribute.DefaultEncoder())+"}"] = n
		}
	}
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			_, points := pointsOf(t, m)
			for _, p := range points {
				add(m.Name, p.set, p.n)
			}
		}
	}
	return out
}

// With the default MaxTenants, no instrument has more series than an OpenTelemetry SDK keeps by default: 2,000. Above
// that number it adds up series that have nothing in common.
func TestSeriesOfManyTenants(t *testing.T) {
	w := watch(t, cache.TiersConfig{Remote: tiertest.NewMemory(), Policies: remoteTimeout(time.Minute)})
	c := with(t, w.Tiers, thingConfig{Load: (&source{}).load})
	for i := range 600 {
		get(t, c.Tenant(fmt.Sprint("t", i)), 1)
	}
	var fills int64
	for name, n := range w.numbers(t) {
		if strings.Contains(name, "overflow") {
			t.Errorf("%s: %d", name, n)
		}
		if strings.HasPrefix(name, "cache.fill{") {
			fills += n
		}
	}
	equal(t, fills, 600, "fills of all tenants")
}

// dataPoint is one number of an instrument: the value of a sum or gauge, and the count of a histogram.
type dataPoint struct {
	set attribute.Set
	n   int64
}

// pointsOf returns the kind and the data points of an instrument.
func pointsOf(t *testing.T, m metricdata.Metrics) (kind string, points []dataPoint) {
	t.Helper()
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		return "counter", valuesOf(d.DataPoints, 1)
	case metricdata.Gauge[int64]:
		return "gauge", valuesOf(d.DataPoints, 1)
	case metricdata.Gauge[float64]: // an age
		return "gauge", valuesOf(d.DataPoints, 1000) // whole ms, as Milliseconds counts
	case metricdata.Histogram[int64]:
		return "histogram", countsOf(d.DataPoints)
	case metricdata.Histogram[float64]:
		return "histogram", countsOf(d.DataPoints)
	}
	t.Errorf("%s is a %T", m.Name, m.Data)
	return "", nil
}

func valuesOf[N int64 | float64](all []metricdata.DataPoint[N], unit float64) (points []dataPoint) {
	for _, p := range all {
		points = append(points, dataPoint{p.Attributes, int64(float64(p.Value)*unit + 1e-6)})
	}
	return points
}

func countsOf[N int64 | float64](all []metricdata.HistogramDataPoint[N]) (points []dataPoint) {
	for _, p := range all {
		points = append(points, dataPoint{p.Attributes, int64(p.Count)})
	}
	return points
}

func TestInstruments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		w := watch(t, cache.TiersConfig{Remote: remote})
		p := swr
		p.StaleIfError = new(time.Hour)
		c := with(t, w.Tiers, thingConfig{Load: src.load, Policy: p})
		other := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load, Policy: p})
		get(t, other, 2)

		get(t, c, 1) // miss, load, fill
		get(t, c, 1) // local hit
		get(t, c, 2) // remote hit
		advance(15 * time.Second)
		get(t, c, 1) // stale, refreshed
		synctest.Wait()
		src.fail(cache.ErrNotFound)
		_, _ = c.Get(t.Context(), 3) // miss, load, absence filled
		_, _ = c.Get(t.Context(), 3) // local hit, negative
		src.fail(errSource)
		advance(10 * time.Minute)
		get(t, c, 1) // load error, stale on error
		src.fail(nil)
		invalidateTag(t, w.Tiers, "x")
		succeeds(t, errors.Join(c.DeleteAll(t.Context()), c.Delete(t.Context(), 9)))
		src.took = time.Second
		crowd(3, func(int) { get(t, c, 5) }) // miss, two merged
		remote.Fail(errRemote, tiertest.Get)
		get(t, c, 6)
		remote.Heal()

		const some = -1 // other checks cover sizes and numbers of calls
		got, s := w.numbers(t), w.Stats()
		for name := range got {
			if strings.HasPrefix(name, "cache.remote.duration") || strings.HasPrefix(name, "cache.value.size") {
				got[name] = some
			}
		}
		maps.DeleteFunc(got, func(name string, _ int64) bool { return strings.HasPrefix(name, "cache.fences") })
		const ns = "cache.namespace=things,cache.tenant=default"
		want := map[string]int64{
			"cache.remote.breaker{state=closed}":               1,
			"cache.hit{" + ns + ",tier=local}":                 3,
			"cache.hit{" + ns + ",tier=remote}":                1,
			"cache.miss{" + ns + "}":                           5,
			"cache.merge{" + ns + "}":                          2,
			"cache.load{" + ns + "}":                           6,
			"cache.load.error{" + ns + "}":                     1,
			"cache.negative{" + ns + "}":                       2,
			"cache.stale_served{" + ns + ",reason=revalidate}": 1,
			"cache.stale_served{" + ns + ",reason=error}":      1,
			"cache.refresh{" + ns + ",outcome=ok}":             1,
			"cache.fill{" + ns + ",outcome=stored}":            4,
			"cache.invalidate{kind=tag}":                       1,
			"cache.invalidate{kind=prefix}":                    1,
			"cache.invalidate{kind=key}":                       1,
			"cache.remote.error{" + ns + ",op=get}":            1,
			"cache.load.duration{" + ns + "}":                  6,
			"cache.staleness.age{" + ns + "}":                  2,

			// This test has too few local hits for the sample.
			"cache.get.duration{" + ns + ",outcome=load,sampled=1}":     5,
			"cache.get.duration{" + ns + ",outcome=remote,sampled=1}":   1,
			"cache.get.duration{" + ns + ",outcome=stale,sampled=1}":    1,
			"cache.get.duration{" + ns + ",outcome=negative,sampled=1}": 1,

			"cache.local.entries{}":                       s.Local.Entries,
			"cache.local.bytes{}":                         s.Local.Bytes,
			"cache.value.size{" + ns + ",dir=in}":         some,
			"cache.value.size{" + ns + ",dir=out}":        some,
			"cache.remote.duration{" + ns + ",op=get}":    some,
			"cache.remote.duration{" + ns + ",op=claim}":  some,
			"cache.remote.duration{" + ns + ",op=fill}":   some,
			"cache.remote.duration{" + ns + ",op=remove}": some,
		}
		same(t, want, got, "instruments")
		for name, n := range map[string]int64{
			"cache.hit{" + ns + ",tier=local}": s.Total.Reads.LocalHits, "cache.hit{" + ns + ",tier=remote}": s.Total.Reads.RemoteHits,
			"cache.miss{" + ns + "}": s.Total.Reads.Misses, "cache.merge{" + ns + "}": s.Total.Reads.Merged, "cache.load{" + ns + "}": s.Total.Loads.Calls,
			"cache.negative{" + ns + "}": s.Total.Reads.Negatives, "cache.fill{" + ns + ",outcome=stored}": s.Total.Fills.Stored,
			"cache.invalidate{kind=tag}": s.Kinds.Tags, "cache.remote.error{" + ns + ",op=get}": s.Remote.GetErrors,
			"cache.refresh{" + ns + ",outcome=ok}": s.Total.Refreshes.Loaded,
		} {
			equal(t, want[name], n, "Stats has, for %s", name)
		}
	})
}

// A removal counts for the namespace and tenant of its keys, unless there are several.
func TestRemovalsAreLabelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := faulty()
		w := watch(t, cache.TiersConfig{Remote: remote})
		users := with(t, w.Tiers, thingConfig{Namespace: "users:v1", Load: new(source).load}).Tenant("acme")
		more := with(t, w.Tiers, thingConfig{Namespace: "users-2", Load: new(source).load}).Tenant("acme")
		get(t, users, 1)
		get(t, more, 1)
		remote.Fail(errRemote, tiertest.Remove)
		full := func(tenant, namespace, id string) invalidate.Scope {
			k, err := key.Space{Tenant: tenant, Namespace: namespace}.Key(key.Text(id))
			must(t, err)
			return invalidate.Key(k)
		}
		ctx := t.Context()
		for name, err := range map[string]error{
			"one key":              users.Delete(ctx, 1),
			"two keys":             users.DeleteMany(ctx, []int{1, 2}),
			"an id with a colon":   w.Invalidate(ctx, full("acme", "users:v1", "v2:1")),
			"another namespace":    more.Delete(ctx, 1),
			"two namespaces":       w.Invalidate(ctx, full("acme", "users:v1", "1"), full("acme", "users-2", "1")),
			"two tenants":          users.Delete(ctx, 1, full("bolt", "users:v1", "1")),
			"an unknown tenant":    w.Invalidate(ctx, full("bolt", "users:v1", "1")),
			"an unknown namespace": w.Invalidate(ctx, full("acme", "users", "1")),
		} {
			if !errors.Is(err, cache.ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", name, err)
			}
		}
		got := w.numbers(t)
		for name, want := range map[string]int64{
			"cache.remote.error{cache.namespace=users:v1,cache.tenant=acme,op=remove}": 3,
			"cache.remote.error{cache.namespace=users-2,cache.tenant=acme,op=remove}":  1,
			"cache.remote.error{op=remove}":                                            4,
		} {
			if got[name] != want || got[strings.Replace(name, "error", "duration", 1)] != want {
				t.Errorf("%s = %d, durations %d, want %d", name, got[name], got[strings.Replace(name, "error", "duration", 1)], want)
			}
		}
		if s := w.Stats(); s.Remote.RemoveErrors != 8 {
			t.Errorf("RemoveErrors = %d in all, want 8", s.Remote.RemoveErrors)
		}
	})
}

func (w *watched) named(name string) (out []sdktrace.ReadOnlySpan) {
	for _, s := range w.spans.Ended() {
		if s.Name() == name {
			out = append(out, s)
		}
	}
	return out
}

func TestSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: 500 * time.Millisecond}
		w := watch(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
		c := with(t, w.Tiers, thingConfig{Load: src.load, Policy: swr})
		call := func(name string, f func(ctx context.Context)) sdktrace.ReadOnlySpan {
			ctx, span := w.tracer.Start(t.Context(), name)
			f(ctx)
			span.End()
			return w.named(name)[0]
		}
		crowd(2, func(i int) {
			if i == 1 {
				advance(100 * time.Millisecond)
			}
			call(fmt.Sprint("reader ", i), func(ctx context.Context) { _, _ = c.Get(ctx, 1) })
		})
		leader, waiter := w.named("reader 0")[0], w.named("reader 1")[0]
		load := w.named("cache.load")
		if len(load) != 1 || load[0].Parent().SpanID() != leader.SpanContext().SpanID() {
			t.Fatalf("%d load spans, want one with the leader's span as its parent", len(load))
		}
		if l := waiter.Links(); len(l) != 1 || l[0].SpanContext.SpanID() != load[0].SpanContext().SpanID() {
			t.Errorf("the waiter's links are %v, want one link to the load", l)
		}
		if diff := cmp.Diff([]attribute.KeyValue{
			attribute.String("cache.namespace", "things"), attribute.String("cache.tenant", "default"),
		}, load[0].Attributes(), cmp.AllowUnexported(attribute.Value{})); diff != "" {
			t.Errorf("the load's attributes (-want +got):\n%s", diff)
		}
		for _, op := range []string{"get", "claim", "fill"} {
			s := w.named("cache.remote." + op)
			if len(s) != 1 || s[0].SpanKind() != trace.SpanKindClient || s[0].SpanContext().TraceID() != leader.SpanContext().TraceID() {
				t.Errorf("%d spans of %s in the leader's trace, want one client span", len(s), op)
			}
		}

		advance(15 * time.Second)
		reader := call("stale reader", func(ctx context.Context) { _, _ = c.Get(ctx, 1) })
		advance(2 * time.Second)
		refresh := w.named("cache.refresh")
		if len(refresh) != 1 || refresh[0].Parent().IsValid() {
			t.Fatalf("%d refresh spans, want one without a parent", len(refresh))
		}
		if l := refresh[0].Links(); len(l) != 1 || l[0].SpanContext.SpanID() != reader.SpanContext().SpanID() {
			t.Errorf("the refresh's links are %v, want one link to the read that caused it", l)
		}

		deleter := call("deleter", func(ctx context.Context) { _ = c.Delete(ctx, 1) })
		inv := w.named("cache.invalidate")
		if len(inv) != 1 || inv[0].Parent().SpanID() != deleter.SpanContext().SpanID() {
			t.Errorf("%d invalidate spans, want one with the caller's span as its parent", len(inv))
		}

		src.fail(errSource)
		call("failing reader", func(ctx context.Context) { _, _ = c.Get(ctx, 2) })
		if s := w.named("cache.load"); s[len(s)-1].Status().Code != codes.Error {
			t.Errorf("the failed load's status is %v, want Error", s[len(s)-1].Status())
		}
	})
}

// Values, loaders' errors and panic values must not appear in log lines, spans or metrics.
func TestNothingLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "4711-secret-0815"
		remote := faulty()
		w := watch(t, cache.TiersConfig{Remote: remote})
		type value struct {
			Text string
			F    float64
		}
		zero := 0.0
		step := 0
		c := with(t, w.Tiers, cache.Config[int, value]{
			Policy: swr,
			Tags:   func(int, value) []string { return []string{secret} },
			Load: func(_ context.Context, k int) (value, error) {
				step++
				switch {
				case k == 1 && step > 1:
					panicHere(secret)
				case k == 2:
					return value{}, errors.New("no access with password " + secret)
				case k == 3:
					return value{Text: secret, F: zero / zero}, nil // cannot be encoded
				case k == 4:
					return value{}, codedError{"denied", secret}
				}
				return value{Text: secret}, nil
			},
		})
		get(t, c, 1)
		advance(15 * time.Second)
		get(t, c, 1) // the refresh panics
		synctest.Wait()
		for k := 2; k < 5; k++ {
			_, _ = c.Get(t.Context(), k)
		}
		_, _ = c.GetMany(t.Context(), []int{2, 3, 4, 5})
		succeeds(t, c.Set(t.Context(), 6, value{Text: secret}))
		_ = panicOf(func() { _ = c.Refresh(t.Context(), 1) })
		remote.Corrupt(flipBit(8 * 100))
		advance(time.Hour)
		_, _ = c.Get(t.Context(), 6)
		remote.Fail(errors.New("cannot store " + secret))
		for k := 10; k < 20; k++ {
			get(t, c, k) // the breaker opens, and the log says so
		}

		if s := w.log.String(); strings.Contains(s, secret) || !strings.Contains(s, "panicked") || !strings.Contains(s, "panicHere") || !strings.Contains(s, "breaker") || !strings.Contains(s, "encode") {
			t.Errorf("the log lacks a line or contains the secret:\n%s", s)
		}
		for _, s := range w.spans.Ended() {
			if text := fmt.Sprintf("%+v %+v %+v %+v %s", s.Attributes(), s.Events(), s.Links(), s.Status(), s.Name()); strings.Contains(text, secret) {
				t.Errorf("a span contains the secret: %s", text)
			}
		}
		for name := range w.numbers(t) {
			if strings.Contains(name, secret) {
				t.Errorf("a metric contains the secret: %s", name)
			}
		}
	})
}

// Whatever a read meets, it is one hit, miss or merged read.
func TestEveryReadIsCountedOnce(t *testing.T) {
	p := swr
	p.StaleIfError = new(time.Hour)
	const reads = "; go 4 a gets any key=0-4; wait "
	play(t, scene{on: paired, cfg: thingConfig{Policy: p}, steps: "source takes=10ms" +
		reads + "1s" + reads + "12s" + reads + "1s" + reads + "5m; source fails" + reads + "1s" + reads + "1m; a counts Reads=120"})
}

// Stats and the instruments report the same about the log.
func TestLogInstruments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(memlog.Config{Bound: bound})
		link := logtest.NewFaulty(log)
		w := watch(t, cache.TiersConfig{Log: link})
		other := open(t, cache.TiersConfig{Log: log})
		synctest.Wait()
		tell := func(tiers *cache.Tiers) error {
			return tiers.Invalidate(t.Context(), invalidate.Tag("default", "x"))
		}
		must(t, tell(other))
		advance(10 * time.Millisecond)
		link.Fail(errors.New("down"))
		for range 5 {
			must(t, tell(other))
		}
		log.Trim(1)
		if err := tell(w.Tiers); err == nil {
			t.Error("Invalidate returned nil while the log was unreachable")
		}
		advance(bound + time.Second)
		away := w.numbers(t)
		for name, want := range map[string]int64{
			"cache.log.lapse{}": 1, "cache.log.gap{}": 0, "cache.pending{}": 1,
			"cache.log.bump{}": 1, "cache.invalidate.lag{}": 1,
		} {
			equal(t, away[name], want, "while the log is unreachable, %s", name)
		}
		if age := away["cache.lease.age{}"]; age < bound.Milliseconds() {
			t.Errorf("the lease is %d ms old, want at least %d", age, bound.Milliseconds())
		}
		equal(t, away["cache.pending.age{}"], (bound + 1250*time.Millisecond).Milliseconds(), "the age of the pending invalidation")
		if away["cache.log.error{op=sync}"] == 0 || away["cache.log.error{op=tail}"] == 0 {
			t.Error("failed calls are not counted")
		}
		link.Heal()
		advance(bound)
		back, s := w.numbers(t), w.Stats().Log
		for name, want := range map[string]int64{
			"cache.log.lapse{}": s.Lapses, "cache.log.gap{}": s.Gaps, "cache.log.bump{}": s.Bumps, "cache.pending{}": s.Pending,
			"cache.log.error{op=sync}": s.SyncErrors, "cache.log.error{op=tail}": s.TailErrors,
			"cache.lease.age{}": s.LeaseAge.Milliseconds(), "cache.pending.age{}": 0,
		} {
			if back[name] != want {
				t.Errorf("%s = %d, but Stats has %d", name, back[name], want)
			}
		}
		if s.Gaps == 0 || s.Pending != 0 || s.LeaseAge > bound/2 {
			t.Errorf("Stats = %+v, want a gap, nothing pending and a young lease", s)
		}
	})
}
