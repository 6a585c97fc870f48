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
	for _, target := range []string{"/_cache", "/_cache/responses", "/_cache/responses?url=/", "/_cache/objects?tag=settings"} {
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
	f.present = cache.Stats{Spaces: []cache.SpaceStats{
		{Namespace: "posts", Counts: cache.Counts{LocalHits: 6, Misses: 2, Merged: 1}},
		{Namespace: "settings", Counts: cache.Counts{LocalHits: 2}},
	}}
	f.absent = cache.Stats{Spaces: []cache.SpaceStats{
		{Namespace: "no-posts", Counts: cache.Counts{LocalHits: 1, Negatives: 1, Misses: 2, Merged: 4}},
	}}
	f.format("html", httpcache.Counts{Hits: 997, Stale: 2, Misses: 1, Coalesced: 0, NotModified: 3, Stored: 4, Bytes: 2048})
	f.format("rss", httpcache.Counts{Hits: 1, Misses: 1, Coalesced: 1})
	f.events = pipeline.Stats{
		Queue: pipeline.QueueStats{Len: 11, Last: 20}, Applied: 18, WriteConsumes: 3, AutoConsumes: 1, ConsumeTime: 10 * time.Millisecond, Warmed: 1234,
	}
	f.recent = []pipeline.Record{record("post:1")}
	d := look(t, handler(t, f.config()), "/_cache")
	for _, tt := range []struct {
		table, row string
		want       []string // after the name and the chart; "": whatever it is
	}{
		{"objects", "posts", []string{"–", "50%"}}, // 7 of 14, the misses of absences are the same again
		{"objects", "settings", []string{"–", "100%"}},
		{"responses", "html", []string{"–", "99.9%"}},
		{"responses", "rss", []string{"–", "33.3%"}},
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
	if got := d.row("responses", "html"); len(got) != 4 || got[3] != "50%" {
		t.Errorf("two hits and two misses are %q", got)
	}
	if got := d.row("objects", "pages"); len(got) != 4 || got[3] != "0%" {
		t.Errorf("two misses are %q", got)
	}
	if d.id("write-consumes") != "1" || !strings.Contains(d.id("plans"), "page:about") || !strings.Contains(d.id("plans"), "sitemap") {
		t.Errorf("of the write, the page says %q and %q", d.id("write-consumes"), d.id("plans"))
	}
	s := decode[struct {
		On        bool
		Responses []struct {
			Ratio *float64 `json:"hit_ratio"`
		}
		Layers   []string
		Pipeline struct {
			Writes int `json:"write_consumes"`
		}
		Plans []struct{ Sample []string }
	}](t, get(t, b.ops, "/_cache/stats"))
	if !s.On || len(s.Responses) != 1 || s.Responses[0].Ratio == nil || *s.Responses[0].Ratio != .5 {
		t.Errorf("as JSON, the responses are %+v", s.Responses)
	}
	if len(s.Layers) != 3 || s.Pipeline.Writes != 1 || len(s.Plans) != 1 || len(s.Plans[0].Sample) != 2 {
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
	for _, target := range []string{"/_cache", "/_cache/stats", "/metrics", "/_cache/responses?url=/", "/_cache/responses"} {
		wg.Go(func() {
			for range 5 {
				if a := get(t, b.ops, target); a.status != http.StatusOK {
					t.Errorf("%s = %d", target, a.status)
				}
			}
		})
	}
	for what, value := range map[string]string{"url": "/", "path": "/"} {
		wg.Go(func() {
			for range 5 {
				b.visit("/")
				if a := post(t, b.ops, "/_cache/responses", url.Values{"do": {"purge"}, what: {value}}); a.status != http.StatusOK {
					t.Errorf("purge by %s = %d", what, a.status)
				}
			}
		})
	}
	wg.Wait()
	stop()
	sampling.Wait()
}

// Whatever strangers and databases have put into names, it is text.
func TestNamesAreText(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img/src=x/onerror=alert(1)>`
	f := newFake()
	f.format(evil, counts(1, 1))
	f.object(evil, 1, 1)
	f.events.StageFailures = map[string]int64{evil: 1}
	f.recent = append(f.recent, record(evil))
	h := handler(t, f.config())
	h.Run(cancelled(t))
	d := look(t, h, "/_cache")
	harmless(t, "/_cache", d)
	if n := strings.Count(textOf(d.root), evil); n < 4 {
		t.Errorf("the name is shown %d times, so this tests little", n)
	}
}

// harmless checks that a page has no script, and nothing that could be one.
func harmless(t *testing.T, target string, d *document) {
	t.Helper()
	for n := range d.root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "script" || n.Data == "img" || n.Data == "iframe" {
			t.Errorf("%s has <%s>", target, n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(a.Val, "javascript:") && a.Key == "href" {
				t.Errorf("%s has %s=%q", target, a.Key, a.Val)
			}
		}
	}
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
