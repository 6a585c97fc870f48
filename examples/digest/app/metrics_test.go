package app_test

import (
	_ "embed"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
	"github.com/twofold-go/twofold/examples/internal/webtest"
)

// series are the time series for dashboards and alerts: those of tiers with a remote tier
// and a log.
//
//go:embed testdata/series.txt
var series string

func TestSeriesOfTiers(t *testing.T) {
	path := storetest.Path(t)
	fill(t, path, noon, 1)
	a := open(t, app.Config{DB: path, Zone: "UTC", Now: func() time.Time { return noon }})
	if _, err := a.GenerateAll(t.Context(), digest.Daily); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics = %d: %s", w.Code, w.Body)
	}
	got := webtest.Series(w.Body.String(), "cache_", "cache_namespace", "cache_tenant")
	for want := range strings.Lines(series) {
		if want = strings.TrimSpace(want); !slices.Contains(got, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, want := range []string{
		`cache_load_total{cache_namespace="digest:v1",cache_tenant="default"} 1`,
		`cache_remote_breaker{state="closed"} 1`,
		`cache_pending_age_seconds 0`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if t.Failed() {
		t.Logf("there are:\n%s", w.Body)
	}
}
