package ops_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

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
		default:
		}
	}
}

// The page is accessible: named, labelled and without a script.
func TestPageIsWellMade(t *testing.T) {
	b := newBlog(t)
	b.visit("/")
	b.visit("/")
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
	}
}

// Operators, readers and purges run concurrently.
func TestConcurrent(t *testing.T) {
	b := newBlog(t)
	b.visit("/")
	var wg sync.WaitGroup
	for _, target := range []string{"/_cache", "/metrics", "/_cache/responses?url=/", "/_cache/responses"} {
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
}

// harmless checks that a page has no script, and nothing that a browser could run.
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
