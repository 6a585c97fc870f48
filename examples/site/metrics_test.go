package main

import (
	_ "embed"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/twofold-go/twofold/examples/internal/webtest"
)

// series are the time series for dashboards and alerts: those of each layer, with its name
// in the label tiers.
//
//go:embed testdata/series.txt
var series string

func TestSeriesOfLayers(t *testing.T) {
	v := visit(t, true)
	for range 3 {
		v.do("GET /", "")
	}
	v.do("PUT /admin/api/posts/1", `{"slug": "a", "title": "A", "summary": "S", "body": "B", "lang": "en", "status": "published"}`)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Authorization", "Bearer k")
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics = %d: %s", w.Code, w.Body)
	}
	page := w.Body.String()
	got := webtest.Series(page, "cache_", "cache_namespace", "cache_tenant")
	for want := range strings.Lines(series) {
		for _, layer := range []string{"responses", "objects", "absences"} {
			if want := strings.Replace(strings.TrimSpace(want), "tiers", "tiers="+layer, 1); !slices.Contains(got, want) {
				t.Errorf("there is no %s", want)
			}
		}
	}
	for _, want := range []string{
		`cache_hit_total{cache_namespace="responses:v1",cache_tenant="default",tier="local",tiers="responses"} 2`,
		`cache_miss_total{cache_namespace="settings",cache_tenant="default",tiers="objects"} 1`,
		`cache_local_entries{tiers="absences"} 0`,
		`site_warm_queue_len 4`, // the post, the home page, the feed and the sitemap
		`site_event_queue_len 0`,
		`site_event_drain_size_count 1`,
		`site_event_drain_size_sum 1`,
		`site_event_plan_actions_total{layer="objects"} 7`,
		`site_event_plan_actions_total{layer="responses"} 7`,
		`site_event_plan_actions_total{layer="warm"} 4`,
		`site_event_consume_seconds_count 1`,
		`site_warm_seconds_count 0`,
		`site_event_failures_total 0`,
		`site_event_dropped_total 0`,
		`site_event_write_triggered_consumes_total 1`,
		`site_event_auto_consume_runs_total 0`,
		`site_event_auto_consume_hits_total 0`,
	} {
		if !strings.Contains(page, "\n"+want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	problems, err := promlint.New(w.Body).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if t.Failed() {
		t.Logf("there are:\n%s", page)
	}
}
