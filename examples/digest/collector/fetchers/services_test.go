package fetchers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
)

const topStories = "https://hn.algolia.com/api/v1/search?tags=front_page&hitsPerPage=30&numericFilters=points%3E%3D50"

func TestHackerNews(t *testing.T) {
	const body = `{"hits":[
{"objectID":"41","title":"Show HN: X","url":"https://x.example/","author":"ann","created_at_i":1772000000,"points":90,"num_comments":3},
{"objectID":"42","title":"Ask HN","url":null,"author":"bob","story_text":"<p>Why?","created_at_i":1772000001}]}`
	r := get(t, map[string]page{topStories: {body: body, moved: "https://elsewhere.example/"}}, "hackernews", `{}`)
	want := []fetchers.Item{
		{GUID: "hn:41", URL: "https://x.example/", Title: "Show HN: X", Author: "ann", PublishedAt: time.Unix(1772000000, 0).UTC()},
		{GUID: "hn:42", URL: "https://news.ycombinator.com/item?id=42", Title: "Ask HN", Content: "Why?", Author: "bob", PublishedAt: time.Unix(1772000001, 0).UTC()},
	}
	if diff := cmp.Diff(want, r.Items); diff != "" || r.MovedTo != "" {
		t.Errorf("moved to %q, items (-want +got):\n%s", r.MovedTo, diff)
	}
}

func TestReddit(t *testing.T) {
	const body = `{"data":{"children":[
{"kind":"t3","data":{"name":"t3_a","title":"Rules","stickied":true}},
{"kind":"t5","data":{"name":"t5_b","title":"A subreddit"}},
{"kind":"t3","data":{"name":"t3_c","title":"Go &lt; 2","url":"https://go.dev/","permalink":"/r/golang/c","author":"ann","created_utc":1772000000.0,"selftext":""}},
{"kind":"t3","data":{"name":"t3_d","title":"Self","url":"ftp://files.example/d","permalink":"/r/golang/d","selftext":"Text"}}]}}`
	r := get(t, map[string]page{"https://www.reddit.com/r/golang/top.json?raw_json=1&limit=100": {body: body}},
		"reddit", `{"subreddit":"r/golang","sort":"top","limit":500}`)
	want := []fetchers.Item{
		{GUID: "t3_c", URL: "https://go.dev/", Title: "Go &lt; 2", Author: "ann", PublishedAt: time.Unix(1772000000, 0).UTC()},
		{GUID: "t3_d", URL: "https://www.reddit.com/r/golang/d", Title: "Self", Content: "Text"},
	}
	if diff := cmp.Diff(want, r.Items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

// A custom_api source names the list of its items, and their fields.
func TestCustomAPI(t *testing.T) {
	const address = "https://api.example/v1/news"
	const body = `{"data":{"list":[
{"id":7,"head":"<b>One</b>","page":{"url":"/one"},"text":"<p>First</p>","by":{"name":"ann"},"at":"2026-02-25T02:00:00+08:00"},
{"id":8,"head":"Two","page":{"url":"javascript:x"},"by":["x"],"at":1772000001},{"id":9,"at":"soon"},"nothing",{"head":{"x":1},"text":"Only text"}]}}`
	const fields = `"fields":{"guid":"id","title":"head","url":"page.url","content":"text","author":"by.name","published_at":"at"}`
	r := get(t, map[string]page{address: {body: body}}, "custom_api", `{"url":"`+address+`","items":"data.list",`+fields+`}`)
	want := []fetchers.Item{
		{GUID: "7", URL: "https://api.example/one", Title: "One", Content: "First", Author: "ann", PublishedAt: at("2026-02-24T18:00:00Z")},
		{GUID: "8", Title: "Two", PublishedAt: time.Unix(1772000001, 0).UTC()},
		{Content: "Only text"},
	}
	if diff := cmp.Diff(want, r.Items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	r = get(t, map[string]page{address: {body: `[{"id":"x","head":"Bare list"}]`}}, "custom_api", `{"url":"`+address+`",`+fields+`}`)
	if diff := cmp.Diff([]fetchers.Item{{GUID: "x", Title: "Bare list"}}, r.Items); diff != "" {
		t.Errorf("a bare list (-want +got):\n%s", diff)
	}
	w := &web{pages: map[string]page{address: {body: `{"data":{"list":{}}}`}}}
	src := fetchers.Source{Config: json.RawMessage(`{"url":"` + address + `","items":"data.list",` + fields + `}`)}
	if _, err := fetchers.New(fetchers.Config{Client: w})["custom_api"].Fetch(t.Context(), src); !errors.Is(err, fetchers.ErrParse) {
		t.Errorf("without a list: %v, want %v", err, fetchers.ErrParse)
	}
}

func TestGitHubTrending(t *testing.T) {
	const body = `<html><body><article class="Box-row"><h2 class="h3"><a href="/twofold-go/twofold"> twofold-go / twofold </a></h2>
<p class="col-9"> A cache in
 two tiers </p><a href="/login">Star</a></article><article class="Box-row"><h2><a href="/sponsors">x</a></h2></article></body></html>`
	w := &web{pages: map[string]page{"https://git.example/trending/c++?since=weekly": {body: body}}}
	f := fetchers.New(fetchers.Config{Client: w, GitHub: "https://git.example"})["github_trending"]
	r, err := f.Fetch(t.Context(), fetchers.Source{Config: json.RawMessage(`{"language":"c++","since":"weekly"}`)})
	want := []fetchers.Item{{GUID: "github:twofold-go/twofold", URL: "https://git.example/twofold-go/twofold", Title: "twofold-go/twofold", Content: "A cache in\ntwo tiers"}}
	if diff := cmp.Diff(want, r.Items); err != nil || diff != "" {
		t.Errorf("%v, items (-want +got):\n%s", err, diff)
	}
	if !w.asked[0].Robots {
		t.Error("a page was scraped without asking robots.txt")
	}
}

func TestWebsite(t *testing.T) {
	const home = "https://e.com/"
	head := func(links string) page { return page{body: "<html><head>" + links + "</head><body>x</body></html>"} }
	alt := func(typ, href string) string {
		return fmt.Sprintf(`<link rel="alternate" type="%s" href="%s">`, typ, href)
	}
	feed := page{body: rss}
	for _, tt := range []struct {
		name  string
		pages map[string]page
		asked string // the last address
		items int
	}{
		{"rss", map[string]page{home: head(alt("application/rss+xml", "/feed")), "https://e.com/feed": feed}, "https://e.com/feed", 3},
		{"the first one, and no API", map[string]page{
			home: head(alt("application/json", "/wp-json") + alt("application/rss+xml; charset=utf-8", "/feed") + alt("application/atom+xml", "/a")), "https://e.com/feed": feed,
		}, "https://e.com/feed", 3},
		{"base", map[string]page{home: head(`<base href="https://cdn.example/x/">` + alt("Application/RSS+XML", "feed")), "https://cdn.example/x/feed": feed}, "https://cdn.example/x/feed", 3},
		{"it is a feed", map[string]page{home: feed}, home, 3},
		{"dead link", map[string]page{home: head(alt("application/rss+xml", "/gone"))}, "https://e.com/gone", 1},
		{"link to a page", map[string]page{home: head(alt("application/rss+xml", "/feed")), "https://e.com/feed": {body: "<html>no"}}, "https://e.com/feed", 1},
		{"API only", map[string]page{home: head(alt("application/json", "/wp-json"))}, home, 1},
		{"script", map[string]page{home: head(alt("application/rss+xml", "javascript:x"))}, home, 1},
	} {
		w := &web{pages: tt.pages}
		r, err := fetchers.New(fetchers.Config{Client: w})["website"].Fetch(t.Context(), fetchers.Source{Config: json.RawMessage(`{"url":"https://e.com/"}`)})
		if err != nil || len(r.Items) != tt.items {
			t.Errorf("%s: %d items, %v; want %d", tt.name, len(r.Items), err, tt.items)
		}
		if last := w.asked[len(w.asked)-1]; last.URL != tt.asked || !w.asked[0].Robots {
			t.Errorf("%s: asked %s last (robots.txt for the page: %v), want %s", tt.name, last.URL, w.asked[0].Robots, tt.asked)
		}
	}
}
