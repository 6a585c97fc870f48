package webtest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/internal/webtest"
)

func TestSeries(t *testing.T) {
	const page = `# HELP cache_hit_total Reads, of "a tier".
# TYPE cache_hit_total counter
cache_hit_total{cache_namespace="a,b",tier="local"} 2
cache_hit_total{cache_namespace="c\"}",tier="local"} 3.5e+06
cache_wait_seconds_bucket{le="+Inf"} 1
cache_wait_seconds_sum 0.5
go_goroutines 7
cache_age{} -1
`
	want := []string{"cache_age{}", "cache_hit_total{cache_namespace,tier=local}", "cache_wait_seconds_sum{}"}
	if diff := cmp.Diff(want, webtest.Series(page, "cache_", "cache_namespace")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}
