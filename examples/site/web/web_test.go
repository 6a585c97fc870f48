package web_test

import (
	"encoding/xml"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/sitetest"
)

func TestGolden(t *testing.T) {
	h, _ := small(t)
	for file, path := range map[string]string{
		"home.html": "/", "home2.html": "/?page=2", "post.html": "/posts/first", "page.html": "/pages/about", "tag.html": "/tags/r-d",
		"month.html": "/months/2026-03", "notfound.html": "/nope", "rss.xml": "/rss.xml",
		"sitemap.xml": "/sitemap.xml", "robots.txt": "/robots.txt",
	} {
		golden(t, file, get(t, h, path).Body.String())
	}
}

var link = regexp.MustCompile(`(?:href="|<loc>` + regexp.QuoteMeta(sitetest.BaseURL) + `)(/[^"<]*)`)

// The links of the home page and the sitemap reach every page, each page exists, and two
// servers on copies of the database give the same bytes.
func TestEverythingIsThere(t *testing.T) {
	one, two := handler(sitetest.Seeded(t)), handler(sitetest.Seeded(t))
	queue := []string{"/", "/sitemap.xml", "/robots.txt"}
	seen := map[string]bool{}
	for ; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		if seen[path] {
			continue
		}
		seen[path] = true
		w := get(t, one, path)
		body := w.Body.String()
		if w.Code != http.StatusOK {
			t.Errorf("GET %s = %d", path, w.Code)
		}
		if len(seen)%10 == 0 { // all of them would take long under the race detector
			if again := get(t, two, path); again.Body.String() != body {
				t.Errorf("GET %s is not the same from another server", path)
			}
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			wantDocument(t, path, body)
		}
		for _, m := range link.FindAllStringSubmatch(body, -1) {
			queue = append(queue, strings.ReplaceAll(m[1], "&amp;", "&"))
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d pages were found", len(seen))
	}
}

// wantDocument checks that a page has each required element once.
func wantDocument(t *testing.T, path, body string) {
	t.Helper()
	for _, part := range []string{"<!doctype html>", `<html lang="en">`, "<title>", "<h1", "<main", "</html>", `rel="canonical"`} {
		if n := strings.Count(body, part); n != 1 {
			t.Errorf("%s has %s %d times", path, part, n)
		}
	}
	if strings.Contains(body, "<script") || strings.Contains(body, "ZgotmplZ") || strings.Contains(body, "%!") {
		t.Errorf("%s has a script, or what a template could not make sense of", path)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	h, svc := small(t)
	p, err := svc.SavePost(t.Context(), 0, service.PostInput{Slug: "hidden", Title: "T", Body: "b", Status: content.Draft})
	if err != nil || p.ID != 3 {
		t.Fatal(p.ID, err)
	}
	for _, path := range []string{
		"/nope", "/posts/", "/posts/nope", "/posts/hidden", "/p/3", "/p/99", "/p/x", "/pages/nope", "/tags/nope",
		"/months/2026-04", "/months/2026-13", "/months/march", "/?page=0", "/?page=3", "/?page=x", "/?page=02", "/?page=-1",
		"/?page=99999999999999999999", "/tags/r-d?page=2", "/index.html",
	} {
		w := get(t, h, path)
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "<h1>") {
			t.Errorf("GET %s = %d:\n%s", path, w.Code, w.Body)
		}
	}
}

// A text of an author cannot become a script on any page.
func TestScriptsAreNeutralised(t *testing.T) {
	h, svc := small(t)
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	_, err := svc.SavePost(t.Context(), 2, service.PostInput{
		Slug: "second", Title: evil, Summary: evil, Body: evil + "\n\n[x](javascript:alert(1)) ]]>" + evil, Status: content.Published, Tags: []string{"r-d"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.UpdateTag(t.Context(), "r-d", content.Tag{Slug: "r-d", Name: evil}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/posts/second", "/tags/r-d", "/rss.xml"} {
		w := get(t, h, path)
		body := w.Body.String()
		if w.Code != http.StatusOK || strings.Contains(body, "<script") || strings.Contains(body, "<img") || strings.Contains(body, `href="javascript`) {
			t.Errorf("GET %s = %d:\n%s", path, w.Code, body)
		}
		if strings.HasSuffix(path, ".xml") {
			if err := xml.Unmarshal(w.Body.Bytes(), new(struct{})); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		} else if !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s has no policy against scripts", path)
		}
	}
}
