package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// step is one request of the demonstration, its expected result, and the call behind it.
type step struct {
	say, method, path, body, etag string
	status                        int
	cached                        string // substring of Cache-Status; empty means anything
	text, not                     string // texts that the answer must and must not contain
	call                          string
}

const (
	hit  = ";hit"
	miss = ";fwd=uri-miss;stored"

	missedPost = "/posts/the-cost-of-a-miss"
	demoPost   = `{"slug": "a-demo", "title": "Demo one", "summary": "S", "body": "It *works*.", "status": "published", "tags": ["go"]}`

	serves    = "httpcache.Handler: from memory"
	renders   = "httpcache.Handler: renders; cache.Depend records what the page depends on"
	confirms  = "httpcache.Handler: If-None-Match"
	appends   = "sqllog.Append in the transaction; Tiers.Ready before the answer"
	untouched = "invalidate.Tag: this page has none of the tags"
	loads     = "cache.Cache.GetOrLoad: loads the items from the database"
)

var story = []step{
	{say: "the home page", method: "GET", path: "/", status: 200, not: "Demo one", call: "httpcache.Handler.Warm at the start, or the first visit"},
	{say: "the home page again", method: "GET", path: "/", status: 200, cached: hit, call: serves},
	{say: "a post, for the first time", method: "GET", path: missedPost, status: 200, cached: miss, call: renders},
	{say: "the post again", method: "GET", path: missedPost, status: 200, cached: hit, call: serves},
	{say: "a client with a copy gets no body", method: "GET", path: missedPost, etag: "current", status: 304, cached: hit, call: confirms},
	{say: "the author publishes a post", method: "POST", path: "/admin/api/posts", body: demoPost, status: 201, text: "a-demo", call: appends},
	{say: "the home page shows it at once", method: "GET", path: "/", status: 200, text: "Demo one", call: renders},
	{say: "the feed", method: "GET", path: "/rss.xml", status: 200, text: "Demo one", call: loads},
	{say: "the sitemap", method: "GET", path: "/sitemap.xml", status: 200, text: "/posts/a-demo", call: loads},
	{say: "the API", method: "GET", path: "/api/v1/posts", status: 200, text: "Demo one", call: renders},
	{say: "another post is still cached", method: "GET", path: missedPost, status: 200, cached: hit, call: untouched},
	{say: "the author deletes it", method: "DELETE", path: "/api/v1/posts/a-demo", status: 204, call: appends},
	{say: "it is gone at once", method: "GET", path: "/posts/a-demo", status: 404, call: "cache.ErrNotFound: negative caching, in its own small tier"},
	{say: "it is not on the home page", method: "GET", path: "/", status: 200, not: "Demo one", call: renders},
	{say: "it is not in the feed", method: "GET", path: "/rss.xml", status: 200, not: "Demo one", call: loads},
}

// tellDemo runs the steps against a running site, and stops at the first failure.
func tellDemo(ctx context.Context, h hints, out io.Writer) error {
	etag := ""
	for i, s := range story {
		if strings.HasPrefix(s.path, "/api/") && h.APIKey == "" {
			continue // the API key of an older database is unknown
		}
		got, err := s.do(ctx, h, etag)
		if err == nil {
			err = s.check(got)
		}
		if err != nil {
			return fmt.Errorf("demo: step %d, %s %s: %w", i+1, s.method, s.path, err)
		}
		etag = got.header.Get("ETag")
		said, _, _ := strings.Cut(strings.TrimPrefix(got.header.Get("Cache-Status"), "twofold;"), ";")
		fmt.Fprintf(out, "%2d  %-34s %-6s %-26s %d %8s  %-13s %s\n", i+1, s.say, s.method, s.path, got.status,
			got.took.Round(10*time.Microsecond), said, s.call)
	}
	_, err := fmt.Fprintln(out, "\nAll steps gave the expected results.")
	return err
}

type reply struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

func (s step) do(ctx context.Context, h hints, etag string) (got reply, err error) {
	r, err := http.NewRequestWithContext(ctx, s.method, h.URL+s.path, strings.NewReader(s.body))
	if err != nil {
		return got, err
	}
	r.Header.Set("Authorization", "Bearer "+h.AdminKey)
	if !strings.HasPrefix(s.path, "/admin/") {
		r.Header.Del("Authorization") // a request with Authorization bypasses the cache
		r.Header.Set("X-API-Key", h.APIKey)
	}
	if s.etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	begun := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return got, err
	}
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(b), time.Since(begun)}, errors.Join(err, resp.Body.Close())
}

func (s step) check(got reply) error {
	status := got.header.Get("Cache-Status")
	switch {
	case got.status != s.status:
		return fmt.Errorf("the status is %d, want %d", got.status, s.status)
	case !strings.Contains(status, s.cached):
		return fmt.Errorf("Cache-Status is %q, want %q", status, s.cached)
	case !strings.Contains(got.body, s.text):
		return fmt.Errorf("the answer lacks %q", s.text)
	case s.not != "" && strings.Contains(got.body, s.not):
		return fmt.Errorf("the answer still contains %q", s.not)
	}
	return nil
}
