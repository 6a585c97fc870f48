package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// Without the cache of responses alone, pages are rendered from cached objects, and writes show.
func TestObjectsAlone(t *testing.T) {
	s := sitetest.Seeded(t)
	v := &visitor{t: t, now: sitetest.Now()}
	v.site = build(t, s, siteConfig{objectsOnly: true, now: func() time.Time { return v.now }})
	const post = "GET /posts/the-cost-of-a-miss"
	first, before := v.do(post, ""), s.Queries()
	w := v.ask(post, "")
	if n := s.Queries() - before; n != 0 || textOf(w) != first || strings.Contains(w.Header().Get("Cache-Status"), hit) {
		t.Errorf("the second time: %d queries, %s", n, w.Header().Get("Cache-Status"))
	}
	v.do("PUT /admin/api/posts/1", oldPost)
	if got := v.do(post, ""); !strings.Contains(got, "New title") {
		t.Error("the write does not show")
	}
	if page := v.metrics(); !strings.Contains(page, "site_event_write_triggered_consumes_total 1\n") || strings.Contains(page, `tiers="responses"`) {
		t.Error("the metrics are of another site")
	}
}

func (v *visitor) metrics() string {
	r := httptest.NewRequestWithContext(v.t.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Authorization", "Bearer k")
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	return w.Body.String()
}

// sum adds up the samples of a metric whose labels match a pattern.
func sum(t *testing.T, page, name, labels string) (total float64) {
	t.Helper()
	all := regexp.MustCompile(`(?m)^`+name+`\{[^}]*`+labels+`[^}]*\} (\S+)$`).FindAllStringSubmatch(page, -1)
	for _, m := range all {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if len(all) == 0 {
		t.Errorf("there is no %s with %s", name, labels)
	}
	return total
}

// The sums over formats are the library's, and the sums over types of objects are its statistics.
func TestSumsAgree(t *testing.T) {
	v := &visitor{t: t, now: sitetest.Now()}
	l := usual
	l.responses = 150 << 10 // some are evicted
	v.site = build(t, sitetest.Seeded(t), siteConfig{limits: l, now: func() time.Time { return v.now }})
	for range 3 {
		v.all()
		v.do("PUT /admin/api/posts/1", oldPost)
	}
	v.all()
	text := v.metrics()
	for name, pair := range map[string][2]float64{
		"hits":      {sum(t, text, "site_response_requests_total", `result="hit"`), sum(t, text, "cache_hit_total", `tiers="responses"`)},
		"evictions": {sum(t, text, "site_response_evicted_total", ``), sum(t, text, "cache_evict_total", `tiers="responses"`)},
		"misses":    {sum(t, text, "site_response_requests_total", `result="miss"`), sum(t, text, "cache_miss_total", `tiers="responses"`)},
	} {
		if pair[0] != pair[1] || pair[0] == 0 {
			t.Errorf("%s: %v by format, %v by the library", name, pair[0], pair[1])
		}
	}
}

// A write of another process warms up the pages that show it.
func TestWarmByTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, scene{old: "TITLE-1", new: "TITLE-2"}, nil)
		other, err := cache.Open(cache.TiersConfig{Log: p.log})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(other.Invalidate(t.Context(), postOne()...), other.Close(t.Context())); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Nanosecond) //nolint:forbidigo // in a bubble: calls of the log must differ in time
		if err := p.hear(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		text := strings.Join(p.warmer.Waiting(), " ")
		if text != "/ /posts/a /rss.xml /sitemap.xml" {
			t.Errorf("%s are warmed up", text)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
