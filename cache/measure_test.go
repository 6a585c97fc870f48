package cache_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

const instrumentsFile = "testdata/instruments.golden"

// instruments returns the name, kind, unit, attributes and description of each instrument.
func (w *watched) instruments(t *testing.T) string {
	t.Helper()
	var rm metricdata.ResourceMetrics
	must(t, w.reader.Collect(t.Context(), &rm))
	var lines []string
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			kind, points := pointsOf(t, m)
			line := strings.TrimRight(fmt.Sprintf("%-22s %-9s %-9s %s", m.Name, kind, m.Unit, keysOf(points)), " ")
			lines = append(lines, line+"\n  "+m.Description+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// keysOf returns the names of the attributes. Those without the prefix "cache." get their
// values, too.
func keysOf(points []dataPoint) string {
	values := map[string][]string{}
	for _, p := range points {
		for _, kv := range p.set.ToSlice() {
			if k, v := string(kv.Key), kv.Value.String(); !slices.Contains(values[k], v) {
				values[k] = append(values[k], v)
			}
		}
	}
	var out []string
	for k, vs := range values {
		slices.Sort(vs)
		if strings.HasPrefix(k, "cache.") {
			out = append(out, k)
		} else {
			out = append(out, k+"="+strings.Join(vs, ","))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// The instrument of the breaker's current state is 1. Without a remote tier there is none.
func TestBreakerInstrument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		w := watch(t, cache.TiersConfig{Remote: remote})
		c := with(t, w.Tiers, thingConfig{Load: src.load})
		want := func(state string) {
			t.Helper()
			got := map[string]int64{}
			for name, n := range w.numbers(t) {
				if strings.HasPrefix(name, "cache.remote.breaker") {
					got[name] = n
				}
			}
			same(t, map[string]int64{"cache.remote.breaker{state=" + state + "}": 1}, got, "the breaker is %s", w.Stats().Remote.Breaker)
		}
		want("closed")
		remote.Fail(errRemote)
		for k := range 5 {
			get(t, c, k)
		}
		want("open")
		advance(2 * time.Second)
		want("half-open")
		remote.Heal()
		get(t, c, 9)
		want("closed")
		if all := watch(t, cache.TiersConfig{}).instruments(t); strings.Contains(all, "breaker") {
			t.Errorf("a breaker without a remote tier:\n%s", all)
		}
	})
}

// Dashboards depend on the instruments' names, kinds, units and attributes.
func TestInstrumentList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: time.Millisecond}
		w := watch(t, cache.TiersConfig{
			Remote: tiertest.NewMemory(), Log: logtest.NewMemory(logtest.MemoryConfig{Bound: time.Hour}),
			Local: local.New(local.Config{}),
		})
		must(t, w.Ready(t.Context()))
		c := with(t, w.Tiers, thingConfig{Load: src.load, Policy: policy.Patch{
			TTL: new(time.Minute), Stale: new(time.Minute), StaleIfError: new(time.Hour), NegativeTTL: new(time.Minute),
		}})
		for range 3000 { // enough that the sample has some hits
			get(t, c, 1)
		}
		wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Remote}, cache.SkipLocal())
		advance(90 * time.Second)
		get(t, c, 1)
		synctest.Wait()
		src.fail(errSource)
		_, _ = c.Get(t.Context(), 2)
		advance(10 * time.Minute)
		get(t, c, 1)
		src.fail(cache.ErrNotFound)
		for range 40 * 1024 { // enough for a sample, whichever stripes the hits fall into
			_, _ = c.Get(t.Context(), 3)
		}
		must(t, c.Delete(t.Context(), 1))
		synctest.Wait()
		rows := &source{fixed: "old"}
		audited := with(t, w.Tiers, thingConfig{Namespace: "audited", Load: rows.load, Policy: patch{Audit: new(1.0), TTL: new(policy.Forever)}})
		get(t, audited, 1)
		get(t, audited, 1)
		rows.write(1, "new")
		advance(3 * time.Hour)
		got := w.instruments(t)
		if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
			must(t, os.WriteFile(instrumentsFile, []byte(got), 0o600))
		}
		want, err := os.ReadFile(instrumentsFile)
		must(t, err)
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("the instruments differ (-want +got); run with -update to accept them:\n%s", diff)
		}
	})
}

// onOneStack calls f on a stack that does not move: it has room, and a collection shrinks only one of which
// less than a quarter is used. Local hits are counted by the address of their stack.
//
//go:noinline
func onOneStack(i int, f func()) byte {
	var own [64 << 10]byte
	own[i] = 1
	f()
	return own[i]
}

// Each local hit is counted. One in 1,024 is timed, and carries that number as an attribute.
func TestLocalHitsAreSampled(t *testing.T) {
	w := watch(t, cache.TiersConfig{})
	c := with(t, w.Tiers, thingConfig{Load: (&source{}).load})
	const n = 1024
	onOneStack(1, func() {
		for range n + 1 {
			get(t, c, 1)
		}
	})
	const ns = "cache.get.duration{cache.namespace=things,cache.tenant=default,outcome="
	got := w.numbers(t)
	if got[ns+"local,sampled=1024}"] != 1 || got[ns+"load,sampled=1}"] != 1 || got[ns+"local,sampled=1}"] != 0 {
		t.Errorf("after %d hits: %v", n, got)
	}
	for range n {
		must(t, errOf(c.Fetch(t.Context(), 1, nil, cache.MaxAge(time.Hour))))
	}
	if got := w.numbers(t)[ns+"local,sampled=1024}"]; got < 1 || got > 2 {
		t.Errorf("%d samples of %d hits, want 1 or 2", got, 2*n)
	}
}

// A caller's span gets an event for each of its reads, if the span is recorded.
func TestSpanEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		w := watch(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
		c := with(t, w.Tiers, thingConfig{Load: src.load, Policy: swr})
		ctx, span := w.tracer.Start(t.Context(), "caller")
		_, _ = c.Get(ctx, 1)
		_, _ = c.Get(ctx, 1)
		_, _ = c.Fetch(ctx, 1, nil)
		_, _ = c.Fetch(ctx, 1, nil, cache.SkipLocal())
		advance(15 * time.Second)
		_, _ = c.Get(ctx, 1)
		synctest.Wait()
		src.fail(errSource)
		_, _ = c.Get(ctx, 2)
		src.fail(cache.ErrNotFound)
		_, _ = c.Get(ctx, 3)
		_, _ = c.Get(ctx, 3)
		_, _ = c.Get(context.Background(), 1) // no span
		span.End()
		var got []string
		for _, e := range w.named("caller")[0].Events() {
			set := attribute.NewSet(e.Attributes...)
			got = append(got, e.Name+" "+set.Encoded(attribute.DefaultEncoder()))
		}
		var want []string
		for s := range strings.FieldsSeq("miss:load hit:local hit:local hit:remote hit:stale miss:error miss:negative hit:negative") {
			name, outcome, _ := strings.Cut(s, ":")
			want = append(want, "cache."+name+" cache.namespace=things,cache.tenant=default,outcome="+outcome)
		}
		same(t, want, got, "events")
	})
}
