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

// demo is a visitor and the author of a running site, who check what it promises.
type demo struct {
	hints
	out  io.Writer
	etag string // of what was got last
}

// step is one request of the story, and what is to come of it.
type step struct {
	say                      string
	method, path, body, etag string
	status                   int
	cached                   string // what Cache-Status is to say; empty: anything
	text                     string // what is to be in the answer
	not                      string // what is not to be in it
}

const (
	hit  = ";hit"
	miss = ";fwd=uri-miss;stored"
)

func demoPost(title string) string {
	return `{"slug": "a-demo", "title": "` + title + `", "summary": "S", "body": "It *works*.", "lang": "en", "status": "published", "tags": ["go"]}`
}

var story = []step{
	{say: "the home page", method: "GET", path: "/", status: 200, not: "Demo one"},
	{say: "is there the next time", method: "GET", path: "/", status: 200, cached: hit},
	{say: "a post that nobody has asked for is made", method: "GET", path: "/posts/the-cost-of-a-miss", status: 200, cached: miss},
	{say: "and is there the next time", method: "GET", path: "/posts/the-cost-of-a-miss", status: 200, cached: hit},
	{say: "who has it need not get it again", method: "GET", path: "/posts/the-cost-of-a-miss", etag: "current", status: 304, cached: hit},
	{say: "the author publishes a post", method: "POST", path: "/admin/api/posts", body: demoPost("Demo one"), status: 201, text: "a-demo"},
	{say: "the home page shows it at once", method: "GET", path: "/", status: 200, text: "Demo one"},
	{say: "and so does the feed", method: "GET", path: "/rss.xml", status: 200, text: "Demo one"},
	{say: "the sitemap", method: "GET", path: "/sitemap.xml", status: 200, text: "/posts/a-demo"},
	{say: "and the API", method: "GET", path: "/api/v1/posts", status: 200, text: "Demo one"},
	{say: "another post is still there", method: "GET", path: "/posts/the-cost-of-a-miss", status: 200, cached: hit},
	{say: "the author deletes it", method: "DELETE", path: "/admin/api/posts/{id}", status: 204},
	{say: "it is gone at once", method: "GET", path: "/posts/a-demo", status: 404},
	{say: "also from the home page", method: "GET", path: "/", status: 200, not: "Demo one"},
	{say: "and from the feed", method: "GET", path: "/rss.xml", status: 200, not: "Demo one"},
}

// tellDemo has a running site tell its story.
func tellDemo(ctx context.Context, h hints, out io.Writer) error {
	d := &demo{hints: h, out: out}
	if err := d.tell(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	_, err := fmt.Fprintln(out, "\nEverything was as it should be.")
	return err
}

// tell runs the story, and stops at the first step that fails.
func (d *demo) tell(ctx context.Context) error {
	id := ""
	for i, s := range story {
		if strings.HasPrefix(s.path, "/api/") && d.APIKey == "" {
			continue // an older database's keys nobody knows
		}
		s.path = strings.ReplaceAll(s.path, "{id}", id)
		got, err := d.do(ctx, s)
		if err == nil {
			err = s.check(got)
		}
		if err != nil {
			return fmt.Errorf("step %d, %s %s: %w", i+1, s.method, s.path, err)
		}
		if s.status == http.StatusCreated {
			_, id, _ = strings.Cut(got.body, `"id":`)
			id = id[:strings.IndexAny(id+",", ",}")]
		}
		d.etag = got.header.Get("ETag")
		fmt.Fprintf(d.out, "%2d  %-42s %6s %-28s %d %8s  %s\n", i+1, s.say, s.method, s.path, got.status,
			got.took.Round(10*time.Microsecond), got.header.Get("Cache-Status"))
	}
	return nil
}

// reply is what a step got.
type reply struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

func (d *demo) do(ctx context.Context, s step) (got reply, err error) {
	r, err := http.NewRequestWithContext(ctx, s.method, d.URL+s.path, strings.NewReader(s.body))
	if err != nil {
		return got, err
	}
	switch {
	case strings.HasPrefix(s.path, "/admin/"):
		r.Header.Set("Authorization", "Bearer "+d.AdminKey)
	case strings.HasPrefix(s.path, "/api/"):
		r.Header.Set("X-API-Key", d.APIKey)
	}
	if s.etag != "" {
		r.Header.Set("If-None-Match", d.etag)
	}
	if s.body == "" {
		r.Body = http.NoBody
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
		return fmt.Errorf("the cache says %q, want %q", status, s.cached)
	case !strings.Contains(got.body, s.text):
		return fmt.Errorf("the answer does not have %q", s.text)
	case s.not != "" && strings.Contains(got.body, s.not):
		return fmt.Errorf("the answer still has %q", s.not)
	}
	return nil
}
