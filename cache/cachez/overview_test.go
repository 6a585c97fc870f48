package cachez_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache/cachetest"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/policy"
)

var update = flag.Bool("update", false, "rewrite testdata")

// The overview as JSON.
func TestOverview(t *testing.T) { synctest.Test(t, testOverview) }

func testOverview(t *testing.T) {
	p := newProgram(t)
	p.read("ada", "ada", "bob", "acme/ada")
	p.visit("/a", "/a", "/a//b")
	if err := p.tiers.SetPolicies(policy.Table{
		{Tenant: "acme", Patch: policy.Patch{Off: new(true)}}, {Namespace: "users", Patch: policy.Patch{Off: new(true)}}, // meant: users:v1
	}); err != nil {
		t.Fatal(err)
	}
	p.post("do=purge&tag=initial:b")
	p.post("do=expire&key=default:users:v1:ada")
	synctest.Wait()
	w := p.call(http.MethodGet, "", "", "Accept", "application/json")
	var all any
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(brief(all), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/overview.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the overview differs (-%s +got); if that is meant, run go test ./cache/cachez -update:\n%s", golden, diff)
	}
}

// brief leaves out zeros and numbers of other packages.
func brief(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			switch short := brief(value); {
			case short == nil || name == "syncs" || name == "lease_left_seconds" || name == "records" || name == "max_value_bytes" || name == "load_timeout" || name == "remote_timeout":
				delete(x, name)
			case name == "bytes", name == "used", name == "full":
				x[name] = "some"
			default:
				x[name] = short
			}
		}
		if len(x) == 0 {
			return nil
		}
	case []any:
		for i := range x {
			x[i] = brief(x[i])
		}
	case float64:
		if x == 0 {
			return nil
		}
	case bool, string:
		if x == false || x == "0s" {
			return nil
		}
	}
	return v
}

// The HTML page shows the numbers of the JSON, and shows problems while they last.
func TestOverviewPage(t *testing.T) { synctest.Test(t, testOverviewPage) }

func testOverviewPage(t *testing.T) {
	p := newProgram(t, func(c *cachez.Config) { c.Title = "Users and pages" })
	_, text := elements(t, p.get("").Body.String())
	if !strings.Contains(text, "No requests yet") || !strings.Contains(text, "hit ratio –") || !strings.Contains(text, "Nothing is wrong") {
		t.Errorf("a page without reads:\n%s", text)
	}
	p.read("ada", "ada", "ada", "acme/ada")
	p.visit("/a", "/a")
	p.fleet.Remote[0].Fail(cachetest.ErrCutOff)
	for i := range 50 {
		p.read("b" + strconv.Itoa(i))
	}
	w := p.get("")
	_, text = elements(t, w.Body.String())
	for _, want := range []string{
		"Users and pages", "users:v1", "acme", "http:v1", "stale 1m", "breaker of the remote tier open", "local tier 0.0 % full", "local hits 2, ", "lease for ", "pending",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	all, _ := elements(t, w.Body.String())
	links, parts := 0, 0
	for _, e := range all {
		if e.name == "a" && e.attrs["href"] == "?prefix=default%3ausers%3av1%3a" {
			links++
		}
		if e.name == "rect" {
			parts++
		}
	}
	if links != 1 || parts < 4 {
		t.Errorf("%d links to the keys of a space, want 1; %d parts of bars, want some for each space", links, parts)
	}
	if strings.Contains(text, "load panics") {
		t.Error("a counter of zero is shown")
	}
	if got := w.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("Content-Type: %s", got)
	}
}

// Browsers get HTML, programs JSON; a HEAD has the header of a GET.
func TestFormats(t *testing.T) { synctest.Test(t, testFormats) }

func testFormats(t *testing.T) {
	p := newProgram(t)
	for _, tt := range []struct {
		query, accept string
		json          bool
	}{
		{"", "", false},
		{"", "*/*", false},
		{"", "text/html,application/xhtml+xml,*/*;q=0.8", false},
		{"", "application/json", true},
		{"", "application/json, text/html;q=0.5", true},
		{"?format=json", "text/html", true},
		{"?format=html", "application/json", false},
		{"?format=json&tag=a", "", true},
	} {
		w := p.call(http.MethodGet, tt.query, "", "Accept", tt.accept)
		if got := w.Header().Get("Content-Type") == "application/json"; got != tt.json || json.Valid(w.Body.Bytes()) != tt.json {
			t.Errorf("%q of %q is %s", tt.query, tt.accept, w.Header().Get("Content-Type"))
		}
		head := p.call(http.MethodHead, tt.query, "", "Accept", tt.accept)
		if head.Body.Len() > 0 || head.Code != w.Code || head.Header().Get("Content-Type") != w.Header().Get("Content-Type") {
			t.Errorf("HEAD = %d with %d bytes and %v", head.Code, head.Body.Len(), head.Header())
		}
	}
}

// Handler needs tiers.
func TestHandlerRefusesNil(t *testing.T) {
	if _, err := cachez.Handler(nil, cachez.Config{}); err == nil || !strings.Contains(err.Error(), "cache.Open") {
		t.Errorf("Handler(nil) = %v", err)
	}
}
