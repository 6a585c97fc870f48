package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
)

// dice returns a number from 0 to n-1.
type dice func(n int) int

func pick[T any](roll dice, of []T) T { return of[roll(len(of))] }

// hosts are the hosts of the site's URLs.
var hosts = []string{"blog.example", "www.example"}

// pools are the values of the parts of a URL. There are few, so that pages are often read,
// written and read again. The last of each is never written.
var pools = map[string][]string{
	"post":  {"a", "b", "c", "d", "e", "no-post"},
	"page":  {"p", "q", "no-page"},
	"tag":   {"go", "tea", "web", "new", "no-tag"},
	"month": {"2026-11", "2026-10", "2026-02", "2019-01"},
	"id":    {"1", "2", "3", "4", "5", "6", "7", "8", "0", "x"},
	"n":     {"1", "2", "3", "99", "0", "x"},
}

// patterns are all kinds of public URLs. Repeated ones are read more often.
var patterns = []string{
	"/", "/", "/?page={n}", "/posts/{post}", "/posts/{post}", "/posts/{post}", "/pages/{page}",
	"/tags/{tag}", "/tags/{tag}?page={n}", "/months/{month}", "/rss.xml",
	"/p/{id}", "/page/{id}", "/page/{id}", "/sitemap.xml", "/robots.txt", "/static/site.css", "/nope", "/posts/", "//", "/posts/a/..",
	"/api/v1/posts", "/api/v1/posts?page={n}", "/api/v1/posts?page={n}", "/api/v1/posts?tag={tag}", "/api/v1/posts?month={month}",
	"/api/v1/posts?month={month}&tag={tag}", "/api/v1/posts/{post}", "/api/v1/pages/{page}", "/api/v1/tags", "/api/v1/months",
	"/api/v1/nope",
}

var blank = regexp.MustCompile(`\{(\w+)\}`)

var targets = sync.OnceValue(func() (all []string) {
	seen := map[string]bool{}
	var fill func(p string)
	fill = func(p string) {
		m := blank.FindStringSubmatch(p)
		if m == nil {
			if !seen[p] {
				seen[p], all = true, append(all, p)
			}
			return
		}
		for _, word := range pools[m[1]] {
			fill(strings.Replace(p, m[0], word, 1))
		}
	}
	for _, p := range patterns {
		fill(p)
	}
	return all
})

type request struct {
	method, host, target string
	header               http.Header
}

func (q request) String() string { return fmt.Sprint(q.method, " ", q.host, q.target, " ", q.header) }

func (q request) http() *http.Request {
	r := httptest.NewRequest(q.method, "/", http.NoBody)
	r.RequestURI, r.Host, r.Header = q.target, q.host, q.header.Clone()
	path, query, _ := strings.Cut(q.target, "?")
	r.URL.Path, r.URL.RawQuery = path, query
	return r
}

// hot are the targets that are read most: only a page that was read before can be stale.
var hot = []string{
	"/", "/?page=2", "/posts/a", "/posts/b", "/pages/p", "/page/1", "/tags/go", "/months/2026-11", "/p/1", "/rss.xml",
	"/sitemap.xml", "/api/v1/posts", "/api/v1/posts/a", "/api/v1/pages/p", "/api/v1/tags", "/api/v1/months",
}

// plainly returns a request for a target without special headers.
func (w *twins) plainly(target string) request {
	q := request{method: http.MethodGet, host: hosts[0], target: target, header: http.Header{}}
	if strings.HasPrefix(target, "/api/") {
		q.header.Set("X-API-Key", w.goodKey)
	}
	return q
}

// request returns a request of any kind, most likely a plain one for a hot target.
func (w *twins) request(roll dice) request {
	if roll(3) > 0 {
		return w.plainly(pick(roll, hot))
	}
	q := w.another(roll)
	if roll(3) == 0 {
		q.target = pick(roll, hot)
	}
	if strings.HasPrefix(q.target, "/api/") {
		q.header["X-Api-Key"] = w.key(roll)
	}
	return q
}

func (w *twins) another(roll dice) request {
	q := request{method: http.MethodGet, host: hosts[0], header: http.Header{}}
	if roll(6) == 0 {
		q.host = hosts[1]
	}
	q.target = blank.ReplaceAllStringFunc(pick(roll, patterns), func(s string) string { return pick(roll, pools[s[1:len(s)-1]]) })
	if roll(8) == 0 {
		q.method = pick(roll, []string{http.MethodHead, http.MethodHead, http.MethodHead, http.MethodPost, http.MethodOptions})
	}
	if roll(6) == 0 {
		q.target = odd(roll, q.target)
	}
	if roll(5) == 0 {
		w.dress(roll, q)
	}
	return q
}

// key returns the lines of a request's X-API-Key: a valid key, one that was revoked or
// lacks a scope, or one that never existed.
func (w *twins) key(roll dice) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := pick(roll, w.keys)
	switch roll(12) {
	case 0:
		return nil
	case 1:
		return []string{"nobody00_SECRET"}
	case 2:
		return []string{known + "x"}
	case 3:
		return []string{"", known}
	case 4:
		return []string{known}
	}
	return []string{w.goodKey}
}

// odd returns a target in another spelling, or an invalid one.
func odd(roll dice, target string) string {
	path, query, _ := strings.Cut(target, "?")
	return path + "?" + pick(roll, []string{
		query + "&utm_source=x", "b=1&" + query + "&a=2", query + "&" + query, query + ";x=1", query + "&%zz", query + "&page=2", "page=2&" + query,
		"page=%32", "page=2&page=3", "page=", "page", "&&", "month=2026-11&tag=go", "tag=go&month=2026-11",
	})
}

func (w *twins) dress(roll dice, q request) {
	w.mu.Lock()
	seen := w.etags[q.target]
	w.mu.Unlock()
	switch roll(8) {
	case 0, 1, 2:
		etags := append([]string{`"none"`, "*"}, seen...)
		q.header.Set("If-None-Match", pick(roll, etags))
	case 3:
		q.header.Set("If-None-Match", `"a", W/`+pick(roll, append([]string{`"b"`}, seen...)))
	case 4:
		q.header.Set("Cache-Control", pick(roll, []string{"no-store", "no-cache", "max-age=0"}))
	case 5:
		q.header.Set(pick(roll, []string{"Cookie", "Authorization"}), "a=b")
	case 6:
		q.header.Set("Range", "bytes=0-9")
	case 7:
		q.header.Set(pick(roll, []string{"Accept", "Accept-Language", "X-Forwarded-Host", "User-Agent"}), "zh")
	}
}
