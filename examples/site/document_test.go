package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/policy"
)

// The requirements of document 001, by their sections. The parts of sections 6 and 7 that no visitor sees are tested in the
// packages events and warm.
func TestDocument(t *testing.T) {
	for _, c := range []struct {
		number string
		test   func(t *testing.T)
	}{
		{"1.1 the admin side is not cached", adminIsNotCached},
		{"1.2 a switch for all caches, and one for responses", switches},
		{"1.3, 4, 5 and 8 a write of any source changes its pages at once, and no others", writesReachPages},
		{"1.4 nothing ends by time", noTTL},
		{"2.3 the API and the pages share objects", sharedObjects},
		{"3 a key has what changes the output", keys},
		{"6 and 7.1 a write consumes its own events", writesConsume},
		{"9 only hot pages of a list are stored", hotPages},
		{"10 and 11 a start warms up, and metrics show it", startWarmsUp},
	} {
		t.Run(c.number, c.test)
	}
}

// how returns the Cache-Status of an answer.
func (v *visitor) how(path string) string {
	v.t.Helper()
	return v.ask("GET "+path, "").Header().Get("Cache-Status")
}

// adminIsNotCached: the admin API reads the database each time, and no answer of it may be stored.
func adminIsNotCached(t *testing.T) {
	v := visit(t, true)
	for range 2 {
		before := v.queries()
		w := v.ask("GET /admin/api/posts/1", "")
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Cache-Status") != "" || v.queries() == before {
			t.Errorf("%v", w.Header())
		}
	}
}

func switches(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg            siteConfig
		hits, fromHere bool // the second answer comes from the responses; it costs no query
	}{
		"all":       {siteConfig{}, true, true},
		"objects":   {siteConfig{objectsOnly: true}, false, true},
		"no caches": {siteConfig{uncached: true}, false, false},
	} {
		s := sitetest.Seeded(t)
		v := &visitor{t: t, queries: s.Queries, site: build(t, s, tt.cfg)}
		v.how("/")
		before := v.queries()
		if got := strings.Contains(v.how("/"), hit); got != tt.hits || (v.queries() == before) != tt.fromHere {
			t.Errorf("%s: the second answer is a hit: %v, and costs %d queries", name, got, v.queries()-before)
		}
	}
}

func noTTL(t *testing.T) {
	v, n := visit(t, true), 0
	for _, tiers := range v.opened {
		for _, p := range tiers.Policies() {
			if n++; p.Policy.TTL != policy.Forever {
				t.Errorf("%s ends after %v", p.Namespace, p.Policy.TTL)
			}
		}
	}
	if n < 5 {
		t.Errorf("%d caches", n)
	}
}

func sharedObjects(t *testing.T) {
	v := visit(t, true)
	v.how("/api/v1/posts/feet-first") // the API key is an object, too
	v.how("/posts/the-cost-of-a-miss")
	before := v.queries()
	if v.how("/api/v1/posts/the-cost-of-a-miss"); v.queries() != before {
		t.Errorf("the API reads again what the page has read: %d queries", v.queries()-before)
	}
}

func keys(t *testing.T) {
	v := visit(t, true)
	for _, tt := range []struct {
		path string
		hit  bool
	}{
		{"/", false}, {"/?page=2", false}, {"/rss.xml", false}, {"/api/v1/posts?tag=soil&page=1", false}, {"/", true}, {"/?page=2", true},
		{"/?utm_source=x", true}, {"/?utm_source=x&page=2", true}, {"/api/v1/posts?page=1&tag=soil", true}, {"/api/v1/posts?tag=caching&page=1", false},
	} {
		if how := v.how(tt.path); strings.Contains(how, hit) != tt.hit {
			t.Errorf("%s: %s, want a hit: %v", tt.path, how, tt.hit)
		}
	}
}

func writesConsume(t *testing.T) {
	v := visit(t, true)
	v.do("POST /admin/api/posts", newPost)
	v.metrics("site_event_write_triggered_consumes_total 1", "site_event_auto_consume_runs_total 0", "site_event_queue_len 0")
}

// metrics checks that lines are among the metrics.
func (v *visitor) metrics(lines ...string) {
	v.t.Helper()
	text := v.scraped()
	for _, line := range lines {
		if !strings.Contains(text, line) {
			v.t.Errorf("no %q in the metrics", line)
		}
	}
}

func (v *visitor) scraped() string {
	v.t.Helper()
	r := httptest.NewRequestWithContext(v.t.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Authorization", "Bearer k")
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	return w.Body.String()
}

func hotPages(t *testing.T) {
	s, few := sitetest.Seeded(t), usual
	few.hotPages = 2
	v := &visitor{t: t, queries: s.Queries, site: build(t, s, siteConfig{objectsOnly: true, limits: few})}
	for path, want := range map[string]bool{"/": true, "/?page=2": true, "/?page=3": false, "/?page=6": false} {
		v.how(path)
		before := v.queries()
		if v.how(path); (v.queries() == before) != want {
			t.Errorf("%s costs %d queries again, want it stored: %v", path, v.queries()-before, want)
		}
	}
}

// startWarmsUp: the first visitor finds what section 10 lists.
func startWarmsUp(t *testing.T) {
	s, ended := sitetest.Seeded(t), make(warmedUp)
	v := &visitor{t: t, queries: s.Queries, site: build(t, s, siteConfig{log: slog.New(slog.NewTextHandler(ended, nil))})}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	go v.consumer.Run(ctx)
	go v.warmer.Run(ctx)
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the warm-up has not ended")
	}
	for _, path := range []string{"/", "/?page=2", "/rss.xml", "/sitemap.xml", "/pages/about"} {
		if how := v.how("http://blog.example" + path); !strings.Contains(how, hit) {
			t.Errorf("%s after the start: %s", path, how)
		}
	}
	v.metrics(
		"cache_hit_total{", "cache_miss_total{", "site_response_requests_total{", "site_event_queue_len", "site_event_drain_size",
		"site_event_plan_actions_total{", "site_event_consume_seconds", "site_warm_seconds", "site_event_failures_total", "site_warm_failures_total",
		"site_event_write_triggered_consumes_total", "site_event_auto_consume_runs_total", "site_event_auto_consume_hits_total",
	)
}

// warmedUp is a log that tells when the warm-up of the start has ended.
type warmedUp chan struct{}

// Write implements [io.Writer].
func (s warmedUp) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("the warm-up of the start has ended")) {
		close(s)
	}
	return len(line), nil
}
