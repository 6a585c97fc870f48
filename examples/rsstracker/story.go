package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/config"
)

type storyCmd struct{}

// Run follows an invented site through three runs. Each opens and closes the program, as a process
// started by cron does, and a reader polls the feed.
func (storyCmd) Run(p *program) error {
	dir, err := os.MkdirTemp("", "rsstracker")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system cleans its temporary folder
	var posts, requests atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		text := []byte("<title>" + r.URL.Path + "</title>")
		if r.URL.Path == "/sitemap.xml" {
			text = []byte("<urlset>")
			for i := range posts.Load() {
				text = fmt.Appendf(text, "<url><loc>/post/%d</loc><lastmod>2026-03-01T%02d:%02d:00Z</lastmod></url>", i, i/60, i%60)
			}
			text = append(text, "</urlset>"...)
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(text)))
		http.ServeContent(w, r, "page.html", time.Time{}, bytes.NewReader(text))
	}))
	defer site.Close()
	file, err := config.Parse(fmt.Appendf(nil, `{database: %[1]q, cache: "%[1]s.cache", output: %q, public_url: "https://feeds.example.org", host_delay: 1ns,
		allow_private: true, sites: {blog: {sitemap_url: "%[3]s/sitemap.xml", channel_config: {title: News}}}}`, filepath.Join(dir, "rss.db"), dir, site.URL))
	etag := ""
	for _, run := range []struct {
		posts     int64
		say, call string
	}{
		{200, "200 posts; the newest ten are published", "cache.Cache.Fetch loads a page once; httpcache stores the feed"},
		{202, "two new posts", "sqltier kept the validators; httpcache.PurgeTags drops the old feed"},
		{202, "nothing new", "cache.ErrNotModified renews what sqltier has; httpcache answers 304"},
	} {
		posts.Store(run.posts)
		a, before := &app{file: file, now: time.Now}, requests.Load()
		if err = errors.Join(err, a.open(p, slog.New(slog.DiscardHandler))); err != nil {
			return errors.Join(err, a.shut(p))
		}
		rep, e := a.attempt(p, "blog", true, p.log)
		r, w := httptest.NewRequest(http.MethodGet, "/blog/rss.xml", http.NoBody), httptest.NewRecorder()
		r.Header.Set("If-None-Match", etag)
		a.server.ServeHTTP(w, r)
		etag = w.Header().Get("ETag")
		fmt.Fprintf(p.out, "%-40s %2d published, %2d requests, %d 304s; the reader gets %d  %s\n", run.say, rep.Published, requests.Load()-before, rep.NotModified, w.Code, run.call)
		err = errors.Join(e, a.shut(p))
		time.Sleep(1100 * time.Millisecond) // the second tier counts ages in seconds
	}
	return err
}
