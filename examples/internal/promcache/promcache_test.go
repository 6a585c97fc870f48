package promcache_test

import (
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/promcache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// number gives each number in a struct another value, from 1, and returns how many
// there are.
func number(v reflect.Value, from int64) int64 {
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			from = number(f, from)
		}
	case reflect.Int, reflect.Int64:
		from++
		v.SetInt(from)
	case reflect.Uint32, reflect.Uint64:
		from++
		v.SetUint(uint64(from))
	}
	return from
}

// gathered returns what a registry has of collectors, by the name and the labels.
func gathered(t *testing.T, collectors ...prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := r.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			add(all, f.GetName(), m)
		}
	}
	return all
}

func add(all map[string]float64, name string, m *dto.Metric) {
	var labels []string
	for _, l := range m.GetLabel() {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	suffix := "{" + strings.Join(labels, ",") + "}"
	switch {
	case m.GetCounter() != nil:
		all[name+suffix] = m.GetCounter().GetValue()
	case m.GetGauge() != nil:
		all[name+suffix] = m.GetGauge().GetValue()
	case m.GetSummary() != nil:
		all[name+"_sum"+suffix] = m.GetSummary().GetSampleSum()
		all[name+"_count"+suffix] = float64(m.GetSummary().GetSampleCount())
	}
}

func lint(t *testing.T, c prometheus.Collector) {
	t.Helper()
	problems, err := testutil.CollectAndLint(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every number that is counted for a namespace is shown, once.
func TestEveryCountIsShown(t *testing.T) {
	var counts cache.Counts
	n := number(reflect.ValueOf(&counts).Elem(), 100)
	c := promcache.Tiers("", func() cache.Stats {
		return cache.Stats{Spaces: []cache.SpaceStats{{Namespace: "users:v1", Tenant: "acme", Counts: counts}}}
	})
	lint(t, c)
	shown := map[float64]string{}
	for name, v := range gathered(t, c) {
		if v == 0 {
			continue
		}
		if !strings.Contains(name, "cache_namespace=users:v1,cache_tenant=acme") {
			t.Errorf("%s does not say whose it is", name)
		}
		if other, twice := shown[v]; twice {
			t.Errorf("%s and %s show the same", name, other)
		}
		shown[v] = name
	}
	if want := int(n - 100); len(shown) != want {
		t.Errorf("%d numbers are shown, want %d", len(shown), want)
	}
}

// The names and labels are what dashboards are made of.
func TestTiers(t *testing.T) {
	s := cache.Stats{
		Spaces: []cache.SpaceStats{
			{Namespace: "posts", Tenant: "acme", Counts: cache.Counts{
				LocalHits: 1, RemoteHits: 2, Misses: 3, Merged: 4, Loads: 5, Evictions: 6, Negatives: 7,
				StaleOnError: 8, RefreshesAdopted: 9, FillsTooLarge: 10, CellsRefused: 11, Overtaken: 12,
			}},
			{Namespace: "posts", Tenant: "other", Counts: cache.Counts{LocalHits: 21}},
		},
		Kinds:  cache.InvalidationStats{Keys: 31, Prefixes: 32, Tags: 33},
		Local:  cache.LocalStats{Bytes: 34, Entries: 35},
		Remote: cache.RemoteStats{Breaker: "half-open", ClaimErrors: 41},
		Log:    invalidate.LogStats{LeaseAge: 1500 * time.Millisecond, Gaps: 42, TailErrors: 43, Pending: 44, PendingAge: 2500 * time.Millisecond},
	}
	c := promcache.Tiers("objects", func() cache.Stats { return s })
	lint(t, c)
	all := gathered(t, c)
	const acme = "cache_namespace=posts,cache_tenant=acme,"
	for name, want := range map[string]float64{
		"cache_hit_total{" + acme + "tier=local,tiers=objects}":                              1,
		"cache_hit_total{" + acme + "tier=remote,tiers=objects}":                             2,
		"cache_miss_total{" + acme + "tiers=objects}":                                        3,
		"cache_merge_total{" + acme + "tiers=objects}":                                       4,
		"cache_load_total{" + acme + "tiers=objects}":                                        5,
		"cache_evict_total{" + acme + "tiers=objects}":                                       6,
		"cache_negative_total{" + acme + "tiers=objects}":                                    7,
		"cache_stale_served_total{" + acme + "reason=error,tiers=objects}":                   8,
		"cache_refresh_total{" + acme + "outcome=adopted,tiers=objects}":                     9,
		"cache_fill_total{" + acme + "outcome=too_large,tiers=objects}":                      10,
		"cache_cell_refused_total{" + acme + "reason=invalidated,tiers=objects}":             11,
		"cache_load_overtaken_total{" + acme + "outcome=given_up,tiers=objects}":             12,
		"cache_hit_total{cache_namespace=posts,cache_tenant=other,tier=local,tiers=objects}": 21,
		"cache_invalidate_total{kind=key,tiers=objects}":                                     31,
		"cache_invalidate_total{kind=prefix,tiers=objects}":                                  32,
		"cache_invalidate_total{kind=tag,tiers=objects}":                                     33,
		"cache_local_bytes{tiers=objects}":                                                   34,
		"cache_local_entries{tiers=objects}":                                                 35,
		"cache_remote_error_total{op=claim,tiers=objects}":                                   41,
		"cache_remote_breaker{state=closed,tiers=objects}":                                   0,
		"cache_remote_breaker{state=half-open,tiers=objects}":                                1,
		"cache_log_gap_total{tiers=objects}":                                                 42,
		"cache_log_error_total{op=tail,tiers=objects}":                                       43,
		"cache_lease_age_seconds{tiers=objects}":                                             1.5,
		"cache_pending{tiers=objects}":                                                       44,
		"cache_pending_age_seconds{tiers=objects}":                                           2.5,
	} {
		if got, ok := all[name]; !ok || got != want {
			t.Errorf("%s = %v, %t, want %v", name, got, ok, want)
		}
	}
}

// Tiers without a remote tier or a log say nothing of one.
func TestOnlyLocal(t *testing.T) {
	for name := range gathered(t, promcache.Tiers("", func() cache.Stats { return cache.Stats{} })) {
		if strings.HasPrefix(name, "cache_remote") || strings.HasPrefix(name, "cache_log") || strings.HasPrefix(name, "cache_lease") {
			t.Errorf("there is %s", name)
		}
	}
	all := gathered(t, promcache.Tiers("", func() cache.Stats { return cache.Stats{Log: invalidate.LogStats{LeaseAge: -1}} }))
	if got := all["cache_lease_age_seconds{}"]; got != -1 {
		t.Errorf("the age of a lease that was never confirmed is %v, want -1", got)
	}
}

func TestPipeline(t *testing.T) {
	s := pipeline.Stats{
		Queue:   pipeline.QueueStats{Len: 1, Last: 10, Published: 2, Duplicates: 3, Overflows: 4, LostWarms: 5, Flushes: 6, Drained: 7},
		Applied: 8, Planned: 9, Plans: 11, WriteConsumes: 12, AutoConsumes: 13, AutoRuns: 20, AutoHits: 14, FailedRounds: 15,
		StageFailures: map[string]int64{"objects": 16, "responses": 17}, Panics: 18, ConsumeTime: 1500 * time.Millisecond,
		Waiting: 19, Warming: 21, Warmed: 22, Skipped: 23, Restarted: 24, FailedWarms: 25, RefusedWarms: 26, WarmTime: 3 * time.Second,
	}
	c := promcache.Pipeline("", func() pipeline.Stats { return s })
	lint(t, c)
	want := map[string]float64{
		"cache_pipeline_event_total{outcome=published}":     2,
		"cache_pipeline_event_total{outcome=duplicate}":     3,
		"cache_pipeline_event_total{outcome=drained}":       7,
		"cache_pipeline_overflow_total{}":                   4,
		"cache_pipeline_flush_total{}":                      6,
		"cache_pipeline_plan_total{}":                       11,
		"cache_pipeline_action_total{}":                     9,
		"cache_pipeline_consume_total{trigger=write}":       12,
		"cache_pipeline_consume_total{trigger=run}":         13,
		"cache_pipeline_consume_error_total{}":              15,
		"cache_pipeline_auto_total{outcome=hit}":            14,
		"cache_pipeline_auto_total{outcome=idle}":           6,
		"cache_pipeline_panic_total{}":                      18,
		"cache_pipeline_warm_total{outcome=warmed}":         22,
		"cache_pipeline_warm_total{outcome=skipped}":        23,
		"cache_pipeline_warm_total{outcome=restarted}":      24,
		"cache_pipeline_warm_total{outcome=failed}":         25,
		"cache_pipeline_warm_total{outcome=refused}":        26,
		"cache_pipeline_warm_total{outcome=lost}":           5,
		"cache_pipeline_stage_error_total{stage=objects}":   16,
		"cache_pipeline_stage_error_total{stage=responses}": 17,
		"cache_pipeline_queue{}":                            1,
		"cache_pipeline_lag{}":                              2,
		"cache_pipeline_warm_queue{}":                       40,
		"cache_pipeline_consume_duration_seconds_sum{}":     1.5,
		"cache_pipeline_consume_duration_seconds_count{}":   25,
		"cache_pipeline_warm_duration_seconds_sum{}":        3,
		"cache_pipeline_warm_duration_seconds_count{}":      71,
	}
	if diff := cmp.Diff(want, gathered(t, c)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// Several of a kind are told apart by their names, in one registry.
func TestSeveral(t *testing.T) {
	stats := func() cache.Stats { return cache.Stats{Local: cache.LocalStats{Entries: 1}} }
	events := func() pipeline.Stats { return pipeline.Stats{} }
	all := gathered(t, promcache.Tiers("a", stats), promcache.Tiers("b", stats), promcache.Pipeline("a", events), promcache.Pipeline("b", events))
	for _, name := range []string{"cache_local_entries{tiers=a}", "cache_local_entries{tiers=b}", "cache_pipeline_queue{pipeline=b}"} {
		if _, ok := all[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
}

// A bad label fails the scrape with an error, not the program.
func TestBadLabel(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(promcache.Tiers("", func() cache.Stats {
		return cache.Stats{Spaces: []cache.SpaceStats{{Namespace: "\xff", Tenant: "t"}}}
	}))
	if _, err := r.Gather(); err == nil {
		t.Error("a label that is not UTF-8 was shown")
	}
}

// Scrapes may come at the same time, while the cache is read.
func TestRealTiers(t *testing.T) {
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer tiers.Close(t.Context())
	posts, err := cache.New(tiers, cache.Config[int, string]{Namespace: "posts"})
	if err != nil {
		t.Fatal(err)
	}
	if err := posts.Set(t.Context(), 1, "one"); err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(promcache.Tiers("objects", tiers.Stats))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if _, err := posts.Get(t.Context(), 1); err != nil {
					t.Error(err)
				}
				if _, err := r.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all := gathered(t, promcache.Tiers("objects", tiers.Stats))
	if got := all["cache_hit_total{cache_namespace=posts,cache_tenant=default,tier=local,tiers=objects}"]; got != 80 {
		t.Errorf("80 hits are %v", got)
	}
	if got := all["cache_local_entries{tiers=objects}"]; got != 1 {
		t.Errorf("1 entry is %v", got)
	}
}
