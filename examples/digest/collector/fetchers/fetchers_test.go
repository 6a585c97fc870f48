package fetchers_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// web holds the pages of the network, and counts their requests.
type web struct {
	pages map[string]page
	asked []fetch.Request
}

type page struct {
	body, typ string
	moved     string
	fresh     time.Duration
}

func (w *web) Get(_ context.Context, r fetch.Request) (fetch.Response, error) {
	w.asked = append(w.asked, r)
	p, ok := w.pages[r.URL]
	if !ok {
		return fetch.Response{}, &fetch.StatusError{URL: r.URL, Code: http.StatusNotFound}
	}
	hash := sha256.Sum256([]byte(p.body))
	return fetch.Response{
		URL: r.URL, Status: http.StatusOK, ContentType: p.typ, Body: []byte(p.body), Hash: hex.EncodeToString(hash[:]),
		MovedTo: p.moved, FreshFor: p.fresh,
	}, nil
}

func get(t *testing.T, pages map[string]page, typ, config string) fetchers.Result {
	t.Helper()
	r, err := fetchers.New(fetchers.Config{Client: &web{pages: pages}})[typ].Fetch(t.Context(), fetchers.Source{Type: typ, Config: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

const rss = `<?xml version="1.0"?>
<rss version="2.0"><channel><title>News</title><link>https://example.com/</link><ttl>90</ttl>
<item><guid>a-1</guid><title>One &amp;amp; two</title><link>/posts/1</link><pubDate>Wed, 25 Feb 2026 10:00:00 +0800</pubDate>
  <author>ann@example.com (Ann)</author><description><![CDATA[<p>First<br>line</p><script>alert(1)</script><p>Se<b>co</b>nd</p>]]></description></item>
<item><title>No guid</title><link>https://example.com/posts/2</link></item>
<item><guid>a-3</guid><title></title><link>javascript:alert(1)</link><description>only text</description></item>
</channel></rss>`

func TestFeedFormats(t *testing.T) {
	const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>N</title><id>x</id><updated>2026-02-25T02:00:00Z</updated>
<entry><id>tag:1</id><title type="html">One &amp;lt;b&amp;gt;</title><link rel="alternate" href="https://example.com/1"/>
<updated>2026-02-25T02:00:00Z</updated><author><name>Ann</name></author><content type="html">&lt;p&gt;Hi&lt;/p&gt;</content></entry></feed>`
	for _, tt := range []struct {
		name, body string
		want       []fetchers.Item
		fresh      time.Duration
	}{
		{"rss", rss, []fetchers.Item{
			{GUID: "a-1", URL: "https://example.com/posts/1", Title: "One & two", Content: "First\nline\nSecond", Author: "Ann", PublishedAt: at("2026-02-25T02:00:00Z")},
			{URL: "https://example.com/posts/2", Title: "No guid"},
			{GUID: "a-3", Title: "only text", Content: "only text"}, // a javascript: URL is not a link
		}, 90 * time.Minute},
		{"atom", atom, []fetchers.Item{
			{GUID: "tag:1", URL: "https://example.com/1", Title: "One <b>", Content: "Hi", Author: "Ann", PublishedAt: at("2026-02-25T02:00:00Z")},
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := get(t, map[string]page{"https://example.com/feed": {body: tt.body}}, "rss", `{"url":"https://example.com/feed"}`)
			if diff := cmp.Diff(tt.want, r.Items); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if r.FreshFor != tt.fresh || r.Status != http.StatusOK {
				t.Errorf("fresh for %v with status %d, want %v and 200", r.FreshFor, r.Status, tt.fresh)
			}
		})
	}
}

func TestFeedTTL(t *testing.T) {
	for _, tt := range []struct {
		ttl         string
		fresh, want time.Duration // fresh: from HTTP
	}{
		{"60", 0, time.Hour}, {"60", 3 * time.Hour, 3 * time.Hour}, {"-5", 0, 0}, {"soon", time.Minute, time.Minute},
	} {
		body := `<rss version="2.0"><channel><title>x</title><ttl>` + tt.ttl + `</ttl></channel></rss>`
		r := get(t, map[string]page{"https://e.com/f": {body: body, fresh: tt.fresh}}, "rss", `{"url":"https://e.com/f"}`)
		if r.FreshFor != tt.want {
			t.Errorf("ttl %s with %v by HTTP: fresh for %v, want %v", tt.ttl, tt.fresh, r.FreshFor, tt.want)
		}
	}
}

// An item without a title, a text and a link says nothing: no digest is paid for it.
func TestEmptyItemsAreLeftOut(t *testing.T) {
	body := `<rss version="2.0"><channel><item></item><item><guid>x</guid></item><item><author>a@b</author></item><item><title>Title</title></item></channel></rss>`
	r := get(t, map[string]page{"https://e.com/f": {body: body}}, "rss", `{"url":"https://e.com/f"}`)
	if len(r.Items) != 1 || r.Items[0].Title != "Title" {
		t.Errorf("%+v", r.Items)
	}
}

// Inputs that other readers accept.
func TestLenientFeeds(t *testing.T) {
	rss := func(items string) string {
		return `<rss version="2.0"><channel><title>x</title>` + items + `</channel></rss>`
	}
	dated := func(zone string) string {
		return rss(`<item><title>T</title><pubDate>Wed, 25 Feb 2026 10:00:00 ` + zone + `</pubDate></item>`)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(rss(`<item><title>T</title></item>`))) // a Buffer takes every write
	_ = z.Close()
	plain := []fetchers.Item{{Title: "T"}}
	atHour := func(s string) []fetchers.Item { return []fetchers.Item{{Title: "T", PublishedAt: at(s)}} }
	const jsonFeed = "{\"version\": \"https://jsonfeed.org/version/1.1\", \"title\": \"x\", \"items\": ["
	for name, tt := range map[string]struct {
		body string
		want []fetchers.Item
	}{
		"references to control characters": {rss("<item><title>T&#29;&#11;&#x1C;&#0;</title></item>"), plain},
		"control characters":               {rss("<item><title>\x08T\uFFFE</title></item>"), plain},
		"bad bytes":                        {`<?xml version="1.0" encoding="utf-8"?>` + rss("<item><title>T\xff</title></item>"), []fetchers.Item{{Title: "T\uFFFD"}}},
		"an unknown charset":               {`<?xml version="1.0" encoding="utf8mb4"?>` + rss("<item><title>T</title></item>"), plain},
		"spaces and a comment of 6 KiB":    {"\n<?xml version='1.0'?>" + strings.Repeat(" \n", 1<<10) + "<!--" + strings.Repeat("x", 4<<10) + "-->" + rss("<item><title>T</title></item>"), plain},
		"gzip without a header":            {zipped.String(), plain},
		"gzip with rubbish behind it":      {zipped.String() + "<!-- 0.1 s -->", plain},
		"MEST":                             {dated("MEST"), atHour("2026-02-25T08:00:00Z")},
		"JST":                              {dated("JST"), atHour("2026-02-25T01:00:00Z")},
		"GMT+2":                            {dated("GMT+2"), atHour("2026-02-25T08:00:00Z")},
		"EST":                              {dated("EST"), atHour("2026-02-25T15:00:00Z")},
		"a date only the parser knows":     {rss(`<item><title>T</title><pubDate>25.02.2026 10:00</pubDate></item>`), atHour("2026-02-25T10:00:00Z")},
		"a permalink and no link":          {rss(`<item><title>T</title><guid>https://e.com/1</guid></item>`), []fetchers.Item{{Title: "T", GUID: "https://e.com/1", URL: "https://e.com/1"}}},
		"a URL that is no permalink":       {rss(`<item><title>T</title><guid isPermaLink="false">https://e.com/1</guid></item>`), []fetchers.Item{{Title: "T", GUID: "https://e.com/1"}}},
		"a guid that is no URL":            {rss(`<item><title>T</title><guid isPermaLink="true">1</guid></item>`), []fetchers.Item{{Title: "T", GUID: "1"}}},
		"JSON Feed": {"\ufeff" + jsonFeed + `
			{"id": 1, "url": "/1", "title": "T &amp; <b>", "content_html": "<p>Hi</p>", "date_published": "2026-02-25T10:00:00+08:00", "authors": [{"name": "Ann"}]},
			{"id": "2", "external_url": "https://e.com/2", "content_text": "a < b", "date_modified": "2026-02-25T10:00:00Z", "author": {"name": "Bob"}}, {}, 7]}`, []fetchers.Item{
			{GUID: "1", URL: "https://e.com/1", Title: "T &amp; <b>", Content: "Hi", Author: "Ann", PublishedAt: at("2026-02-25T02:00:00Z")},
			{GUID: "2", URL: "https://e.com/2", Title: "a < b", Content: "a < b", Author: "Bob", PublishedAt: at("2026-02-25T10:00:00Z")},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := get(t, map[string]page{"https://e.com/f": {body: tt.body}}, "rss", `{"url":"https://e.com/f"}`)
			if diff := cmp.Diff(tt.want, r.Items); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

// The answer is compared with the stored items, not with the cache. Otherwise a crash
// between the fetch and the write would lose items.
func TestNotModified(t *testing.T) {
	w := &web{pages: map[string]page{"https://e.com/f": {body: rss}}}
	f := fetchers.New(fetchers.Config{Client: w})["rss"]
	src := fetchers.Source{Type: "rss", Config: json.RawMessage(`{"url":"https://e.com/f"}`)}
	one, err := f.Fetch(t.Context(), src)
	if err != nil || one.NotModified || len(one.Items) != 3 {
		t.Fatalf("first: %+v, %v", one, err)
	}
	if again, err := f.Fetch(t.Context(), src); err != nil || again.NotModified {
		t.Errorf("nothing was stored, and yet: %+v, %v", again, err)
	}
	src.Seen = one.Seen
	if again, err := f.Fetch(t.Context(), src); err != nil || !again.NotModified || again.Items != nil || again.Seen != one.Seen {
		t.Errorf("it was stored, and yet: %+v, %v", again, err)
	}
	src.Seen = "0:" + one.Seen[strings.Index(one.Seen, ":")+1:]
	if again, err := f.Fetch(t.Context(), src); err != nil || again.NotModified {
		t.Errorf("it was read by another parser, and yet: %+v, %v", again, err)
	}
	if w.asked[0].Version == "" || w.asked[0].Robots {
		t.Errorf("asked %+v, want a version and no robots.txt for a feed", w.asked[0])
	}
}

func TestBrokenAnswers(t *testing.T) {
	for _, tt := range []struct{ name, typ, config, url, body, missing string }{
		{"no feed", "rss", `{"url":"https://e.com/f"}`, "https://e.com/f", "<html><body>Please log in, secret</body></html>", "it is neither RSS, Atom nor JSON Feed"},
		{"no such list", "custom_api", `{"url":"https://e.com/f","items":"secret","fields":{"title":"t"}}`, "https://e.com/f", `{"items":[]}`, "config.items"},
		{"half a feed", "rss", `{"url":"https://e.com/f"}`, "https://e.com/f", rss[:300], ""},
		{"nothing", "atom", `{"url":"https://e.com/f"}`, "https://e.com/f", "", "RSS"},
		{"no JSON", "reddit", `{"subreddit":"golang"}`, "https://www.reddit.com/r/golang/hot.json?raw_json=1&limit=25", "<html>secret", "it is not JSON"},
		{"another page", "github_trending", `{}`, "https://github.com/trending?since=daily", "<html>secret", "it lists no repositories"},
		{"no list", "hackernews", `{}`, topStories, `{"secret":[]}`, "list of items"},
		{"other JSON", "rss", `{"url":"https://e.com/f"}`, "https://e.com/f", `{"version":"1","items":[{"id":"secret"}]}`, "RSS"},
		{"a JSON Feed without its list", "rss", `{"url":"https://e.com/f"}`, "https://e.com/f", `{"version":"https://jsonfeed.org/version/1.1","items":"secret"}`, "list"},
		{"wrong types", "hackernews", `{}`, topStories, `{"hits":"secret"}`, "list of items"},
	} {
		w := &web{pages: map[string]page{tt.url: {body: tt.body}}}
		_, err := fetchers.New(fetchers.Config{Client: w})[tt.typ].Fetch(t.Context(), fetchers.Source{Type: tt.typ, Config: json.RawMessage(tt.config)})
		if !errors.Is(err, fetchers.ErrParse) || !strings.Contains(err.Error(), tt.missing) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want ErrParse with %q and without the answer", tt.name, err, tt.missing)
		}
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	for _, tt := range []struct{ typ, config, field string }{
		{"rss", `{}`, "url"}, {"rss", ``, "url"}, {"website", `{"url":""}`, "url"},
		{"rss", `{"url":["secret"]}`, "url"},
		{"custom_api", `{"url":"https://e.com","fields":{"url":"secret"}}`, "fields"}, {"custom_api", `{"fields":{"title":"secret"}}`, "url"},
		{"custom_api", `{"url":"https://e.com","fields":{"title":["secret"]}}`, "fields.title"}, {"reddit", `{}`, "subreddit"}, {"reddit", `{"subreddit":"r/golang","sort":"secret"}`, "sort"},
		{"hackernews", `{"filter":"secret"}`, "filter"}, {"github_trending", `{"since":"secret"}`, "since"},
	} {
		f := fetchers.New(fetchers.Config{Client: &web{}})[tt.typ]
		src := fetchers.Source{Type: tt.typ, Config: json.RawMessage(tt.config)}
		_, err := f.Fetch(t.Context(), src)
		e, ok := errors.AsType[*fetchers.ConfigError](err)
		if !ok || e.Field != tt.field || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s with %s: %v, want a ConfigError of %s", tt.typ, tt.config, err, tt.field)
		}
		if _, err := f.Address(src); err == nil {
			t.Errorf("%s with %s has an address", tt.typ, tt.config)
		}
	}
}
