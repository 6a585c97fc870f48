package ops_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// /metrics has the metrics of the site and the given ones.
func TestMetrics(t *testing.T) {
	b := newBlog(t)
	for range 3 {
		b.visit("/")
	}
	b.visit("/no/such/page")
	a := get(t, b.ops, "/metrics")
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		t.Errorf("Content-Type: %q", a.header.Get("Content-Type"))
	}
	for _, want := range []string{
		`blog_layers 3`,
		`site_response_requests_total{format="html",result="hit"} 2`,
		`site_response_requests_total{format="html",result="miss"} 2`,
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
