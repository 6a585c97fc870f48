package main

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

var (
	//go:embed twofold.rules.yml
	rules []byte
	//go:embed dashboard.json
	dashboard []byte
	//go:embed README.md
	readme string
)

// added are the labels that Prometheus adds to scraped metrics and to buckets.
var added = []string{"job", "instance", "le"}

// open returns a shop that the test closes.
func open(t *testing.T) *shop {
	t.Helper()
	s, err := newShop()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// scrape runs the program, and returns the values of each label of each cache_ metric, by
// name and label.
func scrape(t *testing.T) map[string]map[string][]string {
	t.Helper()
	s := open(t)
	for range 50 {
		s.round(t.Context())
	}
	synctest.Wait() // until the invalidations have come
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics = %d: %s", w.Code, w.Body)
	}
	metrics := map[string]map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^(cache_\w+)(?:\{(.*)\})? \S+$`).FindAllStringSubmatch(w.Body.String(), -1) {
		if metrics[m[1]] == nil {
			metrics[m[1]] = map[string][]string{}
		}
		for _, l := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			metrics[m[1]][l[1]] = append(metrics[m[1]][l[1]], l[2])
		}
	}
	return metrics
}

// ruleFile is the part of a rules file that the test reads.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct{ Record, Alert, Expr string }
	}
}

// read returns the expressions of the alerts and of the dashboard by their place, and the
// names of the recording rules.
func read(t *testing.T) (exprs map[string]string, recorded []string) {
	t.Helper()
	exprs = map[string]string{}
	var f ruleFile
	if err := yaml.Unmarshal(rules, &f); err != nil {
		t.Fatal(err)
	}
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			exprs["rule "+r.Record+r.Alert] = r.Expr
			if r.Record != "" {
				recorded = append(recorded, r.Record)
			}
		}
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(dashboard, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			exprs["panel "+p.Title+": "+target.Expr] = strings.ReplaceAll(target.Expr, "$job", ".*")
		}
	}
	return exprs, recorded
}

// faults returns the faults of an expression: syntax errors, and names that no metric has.
func faults(expr string, metrics map[string]map[string][]string, recorded []string) (found []string) {
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	known := slices.Clone(added)
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok || slices.Contains(recorded, v.Name) {
			return nil
		}
		m, ok := metrics[v.Name]
		if !ok {
			found = append(found, "there is no metric "+v.Name)
		}
		for name := range m {
			known = append(known, name)
		}
		for _, l := range v.LabelMatchers {
			if l.Name == "__name__" || slices.Contains(added, l.Name) {
				continue
			}
			if !slices.ContainsFunc(m[l.Name], l.Matches) {
				found = append(found, v.Name+" has no series with "+l.String())
			}
		}
		return nil
	})
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, name := range a.Grouping {
				if !slices.Contains(known, name) {
					found = append(found, "no metric has the label "+name)
				}
			}
		}
		return nil
	})
	return found
}

// TestNamesAreReal parses every expression with Prometheus' own parser, and looks up each
// metric and label in the program's output.
func TestNamesAreReal(t *testing.T) {
	var metrics map[string]map[string][]string
	synctest.Test(t, func(t *testing.T) { metrics = scrape(t) })
	exprs, recorded := read(t)
	if len(exprs) < 30 {
		t.Fatalf("%d expressions, want those of the rules and of the dashboard", len(exprs))
	}
	for where, expr := range exprs {
		for _, fault := range faults(expr, metrics, recorded) {
			t.Errorf("%s: %s", where, fault)
		}
	}
}

// TestAlertsAreDescribed checks that each alert has a row in the README.
func TestAlertsAreDescribed(t *testing.T) {
	exprs, _ := read(t)
	for where := range exprs {
		if name, ok := strings.CutPrefix(where, "rule Twofold"); ok && !strings.Contains(readme, "\n| Twofold"+name+" |") {
			t.Errorf("the README does not name Twofold%s", name)
		}
	}
}

// TestFaultsAreFound is the control: each of these expressions has a fault.
func TestFaultsAreFound(t *testing.T) {
	metrics := map[string]map[string][]string{"cache_hit_total": {"tier": {"local", "remote"}}}
	for _, expr := range []string{
		"rate(cache_hit_total[5m]", "cache_hits_total > 1", `cache_hit_total{tier="disk"}`, `cache_hit_total{level="local"}`,
		"sum by (level) (cache_hit_total)", "rate(cache_hit_total)",
	} {
		if faults(expr, metrics, nil) == nil {
			t.Errorf("%s: no fault was found", expr)
		}
	}
	if found := faults(`sum by (job, tier) (rate(cache_hit_total{tier=~"lo.*"}[5m]))`, metrics, nil); found != nil {
		t.Errorf("a good expression has faults: %q", found)
	}
}

// The operator's page shows the cache of the program.
func TestPage(t *testing.T) {
	s := open(t)
	for err := errDown; err != nil; { // one load in fifty fails
		_, err = s.here.Get(t.Context(), 13)
	}
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/caches?tag=shelf:3", http.NoBody))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "default:articles:v1:13") {
		t.Errorf("/caches = %d, want 200 and an article of the shelf:\n%s", w.Code, w.Body)
	}
}

func TestRootLeadsToThePage(t *testing.T) {
	s := open(t)
	for path, want := range map[string]int{"/": http.StatusFound, "/other": http.StatusNotFound} {
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if to := w.Header().Get("Location"); w.Code != want || (to == "/caches") != (want == http.StatusFound) {
			t.Errorf("GET %s = %d to %q, want %d", path, w.Code, to, want)
		}
	}
}
