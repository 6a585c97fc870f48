package ops_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// /metrics has the names of the site and what else it is given.
func TestMetrics(t *testing.T) {
	b := newBlog(t)
	for range 3 {
		b.visit("/")
	}
	b.visit("/no/such/page")
	b.visit("/?page=%zz")
	a := get(t, b.ops, "/metrics")
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		t.Errorf("Content-Type: %q", a.header.Get("Content-Type"))
	}
	for _, want := range []string{
		`blog_layers 3`,
		`site_response_requests_total{format="html",result="hit"} 2`,
		`site_response_requests_total{format="html",result="miss"} 2`,
		`site_response_stored_total{format="html"} 1`,
		`site_response_refused_total{reason="status-not-kept"} 1`,
		`site_response_bypass_total{reason="query"} 1`,
		`site_index_keys{layer="responses"} 1`,
		`site_database_queries_total `,
		`go_goroutines `,
	} {
		if !strings.Contains(a.body, "\n"+want) {
			t.Errorf("there is no %s", want)
		}
	}
	problems, err := promlint.New(strings.NewReader(a.body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// A label that Prometheus cannot take fails the scrape, not the program.
func TestBadFormat(t *testing.T) {
	f := newFake()
	f.format("\xff", counts(1, 1))
	f.events = pipeline.Stats{}
	if a := get(t, handler(t, f.config()), "/metrics"); a.status != 500 || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("= %d, %v", a.status, a.header)
	}
}
