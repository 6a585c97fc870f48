package ops_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

func counts(hits, misses int64) httpcache.Counts { return httpcache.Counts{Hits: hits, Misses: misses} }

func record(text string) pipeline.Record {
	return pipeline.Record{
		At: time.Date(2026, time.November, 21, 8, 9, 10, 0, time.UTC), Took: 1500 * time.Microsecond, Trigger: pipeline.ByWrite, Attempt: 2,
		Err: errors.New(text), First: 7, Last: 9, Events: 3, Subjects: 2, Deleted: 1, Entities: 5, Warms: 4, Lost: 6, Sample: []string{text},
	}
}

// cancelled is a context that has ended: Run takes one sample with it.
func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// tags returns the tags of a page, in order.
func tags(text string) (all []string) {
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		kind := z.Next()
		name, _ := z.TagName()
		switch kind {
		case html.ErrorToken:
			return all
		case html.StartTagToken:
			all = append(all, string(name))
		case html.EndTagToken:
			all = append(all, "/"+string(name))
		case html.SelfClosingTagToken:
			all = append(all, string(name))
			if slices.Contains([]string{"line", "circle", "polyline"}, string(name)) { // an SVG's, which others write in two
				all = append(all, "/"+string(name))
			}
		default:
		}
	}
}

// The page is fit for every reader: named, labelled and without a script.
func TestPageIsWellMade(t *testing.T) {
	b := newBlog(t)
	b.visit("/")
	b.visit("/")
	b.ops.Run(cancelled(t))
	for _, target := range []string{"/_cache", "/_cache/lookup", "/_cache/lookup?url=/", "/_cache/lookup?tag=settings"} {
		d := look(t, b.ops, target)
		harmless(t, target, d)
		var understood strings.Builder
		if err := html.Render(&understood, d.root); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tags(understood.String()), tags(d.text)); diff != "" {
			t.Errorf("%s is not what a browser makes of it (-browser +page):\n%s", target, diff)
		}
		if lang := attr(d.all("html")[0], "lang"); lang != "en" || len(d.all("h1")) != 1 || textOf(d.all("title")[0]) == "" {
			t.Errorf("%s: lang %q, %d headings", target, lang, len(d.all("h1")))
		}
		ids, labels := map[string]int{}, map[string]bool{}
		for n := range d.root.Descendants() {
			if id := attr(n, "id"); id != "" {
				ids[id]++
			}
		}
		for id, n := range maps.All(ids) {
			if n > 1 {
				t.Errorf("%s has the id %s %d times", target, id, n)
			}
		}
		for _, l := range d.all("label") {
			labels[attr(l, "for")] = true
		}
		for _, in := range d.all("input") {
			if kind := attr(in, "type"); kind != "hidden" && kind != "checkbox" && !labels[attr(in, "id")] {
				t.Errorf("%s: the input %s has no label", target, attr(in, "name"))
			}
		}
		for _, s := range d.all("svg") {
			if attr(s, "role") != "img" || attr(s, "aria-label") == "" {
				t.Errorf("%s has a chart without a name", target)
			}
		}
	}
}

// Numbers stand where they belong.
func TestOverview(t *testing.T) {
	f := newFake()
	f.present = cache.Stats{Local: cache.LocalStats{Bytes: 1000, Entries: 4}, Total: cache.Counts{Evictions: 77}, Spaces: []cache.SpaceStats{
		{Namespace: "posts", Counts: cache.Counts{LocalHits: 6, Misses: 2, Merged: 1, Loads: 3, Evictions: 9}},
		{Namespace: "settings", Counts: cache.Counts{LocalHits: 2}},
	}}
	f.absent = cache.Stats{Spaces: []cache.SpaceStats{
		{Namespace: "no-posts", Counts: cache.Counts{LocalHits: 1, Negatives: 1, Misses: 2, Merged: 4, Evictions: 5}},
	}}
	f.format("html", httpcache.Counts{Hits: 997, Stale: 2, Misses: 1, Coalesced: 0, NotModified: 3, Stored: 4, Bytes: 2048})
	f.format("rss", httpcache.Counts{Hits: 1, Misses: 1, Coalesced: 1})
	f.responses.Bypass = map[string]int64{"method": 3, "query": 5}
	f.events = pipeline.Stats{
		Queue: pipeline.QueueStats{Len: 11, Last: 20}, Applied: 18, WriteConsumes: 3, AutoConsumes: 1, ConsumeTime: 10 * time.Millisecond, Warmed: 1234,
	}
	f.recent = []pipeline.Record{record("post:1")}
	d := look(t, handler(t, f.config()), "/_cache")
	for _, tt := range []struct {
		table, row string
		want       []string // after the name and the chart; "": whatever it is
	}{
		{"objects", "posts", []string{"–", "50%", "7", "1", "2", "5", "3", "14"}}, // 7 of 14, the misses of absences are the same again
		{"objects", "settings", []string{"–", "100%", "2", "0", "0", "0", "0", "0"}},
		{"responses", "html", []string{"–", "99.9%", "997", "2", "1", "0", "3", "4", "2.0 KiB"}},
		{"responses", "rss", []string{"–", "33.3%", "1", "0", "1", "1", "0", "0", "0 B"}},
		{"tiers", "objects", []string{"2.0 KiB", "1.0 MiB", "", "77", "0", "0", "0", "0"}}, // 1000 bytes, and 256 for each entry
		{"plans", "08:09:10", []string{"1.5 ms", "7–9", "3 and 6 lost", "2", "1", "5", "4", ""}},
	} {
		cells := d.row(tt.table, tt.row)
		if len(cells) != len(tt.want)+2 {
			t.Errorf("%s of %s are %v", tt.row, tt.table, cells)
			continue
		}
		for i, want := range tt.want {
			if want != "" && cells[i+2] != want {
				t.Errorf("%s of %s: cell %d is %q, want %q", tt.row, tt.table, i+2, cells[i+2], want)
			}
		}
	}
	if cells := d.row("plans", "08:09:10"); cells[1] != "write, attempt 2" || !strings.Contains(cells[9], "post:1") {
		t.Errorf("the plan is %q", cells)
	}
	if d.id("queue-length") != "11" || d.id("write-consumes") != "3" || d.id("warmed") != "1,234" {
		t.Errorf("the pipeline is %q", d.id("pipeline"))
	}
	for _, want := range []string{"Not yet applied2", "Mean round2.5 ms"} {
		if got := strings.ReplaceAll(d.id("pipeline"), "\n", ""); !strings.Contains(got, want) {
			t.Errorf("there is no %q in %q", want, got)
		}
	}
	if !strings.Contains(textOf(d.root), "past the cache: query 5, method 3.") {
		t.Error("the reasons of requests that go past the cache are not told in order")
	}
	if m := d.all("meter"); len(m) != 1 || attr(m[0], "max") != "1048576" || attr(m[0], "value") != "2024" {
		t.Errorf("%d meters", len(m))
	}
}

// A write is seen on the page: in the numbers of the pipeline and among the plans.
func TestWriteIsSeen(t *testing.T) {
	b := newBlog(t)
	for range 3 {
		b.visit("/pages/about")
	}
	if err := b.changes.Entities(t.Context(), content.PageEntity("about"), content.SitemapEntity); err != nil {
		t.Fatal(err)
	}
	b.visit("/pages/about")
	d := look(t, b.ops, "/_cache")
	if got := d.row("responses", "html"); len(got) == 0 || !slices.Equal(got[3:8], []string{"50%", "2", "0", "2", "0"}) {
		t.Errorf("two hits and two misses are %q", got)
	}
	if got := d.row("objects", "pages"); len(got) == 0 || !slices.Equal(got[3:9], []string{"0%", "0", "0", "2", "0", "2"}) {
		t.Errorf("two misses are %q", got)
	}
	if d.id("write-consumes") != "1" || !strings.Contains(d.id("plans"), "page:about") || !strings.Contains(d.id("plans"), "sitemap") {
		t.Errorf("of the write, the page says %q and %q", d.id("write-consumes"), d.id("plans"))
	}
	s := decode[struct {
		On        bool
		Responses []struct {
			Format string
			Ratio  *float64 `json:"hit_ratio"`
			Hits   int64
		}
		Tiers    []struct{ Name string }
		Pipeline struct {
			Writes int `json:"write_consumes"`
		}
		Plans []struct{ Sample []string }
	}](t, get(t, b.ops, "/_cache/api/stats"))
	if !s.On || len(s.Responses) != 1 || s.Responses[0].Ratio == nil || *s.Responses[0].Ratio != .5 || s.Responses[0].Hits != 2 {
		t.Errorf("as JSON, the responses are %+v", s.Responses)
	}
	if len(s.Tiers) != 3 || s.Pipeline.Writes != 1 || len(s.Plans) != 1 || len(s.Plans[0].Sample) != 2 {
		t.Errorf("as JSON, the rest is %+v", s)
	}
}

// Operators, readers, purges and samples do not get into each other's way.
func TestConcurrent(t *testing.T) {
	b := newBlog(t)
	b.visit("/")
	ctx, stop := context.WithCancel(t.Context())
	var sampling, wg sync.WaitGroup
	sampling.Go(func() { b.ops.Run(ctx) })
	for _, target := range []string{"/_cache", "/_cache/api/stats", "/metrics", "/_cache/lookup?url=/", "/_cache/lookup?prefix=/"} {
		wg.Go(func() {
			for range 5 {
				if a := get(t, b.ops, target); a.status != http.StatusOK {
					t.Errorf("%s = %d", target, a.status)
				}
			}
		})
	}
	for what, value := range map[string]string{"tag": "settings", "path": "/", "all": "yes"} {
		wg.Go(func() {
			for range 5 {
				b.visit("/")
				if a := post(t, b.ops, "/_cache/purge", url.Values{what: {value}}); a.status != http.StatusSeeOther {
					t.Errorf("purge by %s = %d", what, a.status)
				}
			}
		})
	}
	wg.Wait()
	stop()
	sampling.Wait()
}

// An error of any length does not take the page over.
func TestLongErrorIsCut(t *testing.T) {
	f := newFake()
	f.recent = []pipeline.Record{record(strings.Repeat("ü", 5000))}
	f.recent[0].Sample = nil
	h := handler(t, f.config())
	if cells := look(t, h, "/_cache").row("plans", "08:09:10"); len(cells[9]) > 310 || !strings.HasSuffix(cells[9], "ü …") {
		t.Errorf("%d bytes of it are shown", len(cells[9]))
	}
}
