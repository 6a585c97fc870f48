package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/twofold-go/twofold/examples/site/seed"
	"github.com/twofold-go/twofold/examples/site/store"
)

type storyCmd struct{}

// story are requests, what the answer and its Cache-Status must contain, and the call behind it.
var story = []struct{ say, request, body, want, cached, call string }{
	{"the home page", "GET /", "", "Yard", "stored", "httpcache.Handler renders; cache.Depend records what the page depends on"},
	{"the home page again", "GET /", "", "Yard", "hit", "httpcache.Handler: from memory"},
	{"a post", "GET /posts/the-cost-of-a-miss", "", "miss", "stored", "httpcache.Handler renders"},
	{"the author writes", "POST /admin/api/posts", `{"slug": "new", "title": "News", "body": "It *works*.", "status": "published"}`, `"new"`, "", "sqllog.Append in the transaction; Tiers.Ready before the answer"},
	{"the home page shows it at once", "GET /", "", "News", "stored", "invalidate.Tag of the list"},
	{"the feed, too", "GET /rss.xml", "", "News", "stored", "cache.Cache.Get: its items from the objects"},
	{"the other post is still cached", "GET /posts/the-cost-of-a-miss", "", "miss", "hit", "it has none of the tags"},
	{"the author deletes", "DELETE /admin/api/posts/57", "", "", "", "sqllog.Append, Tiers.Ready"},
	{"it is gone at once", "GET /posts/new", "", "Not found", "", "cache.ErrNotFound: negative caching, in its own small tier"},
}

// Run makes the requests to the program's own handler, on a new database.
func (storyCmd) Run(p *program) error {
	dir, err := os.MkdirTemp("", "site")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system cleans its temporary folder
	s, err := store.Open(p, filepath.Join(dir, "blog.db"))
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // the file goes
	_, filled := seed.Fill(p, s, seed.Options{BaseURL: "http://blog.example", APIKey: "demo_demo"})
	site, err := newSite(s, siteConfig{adminKey: "k", limits: usual, log: slog.New(slog.DiscardHandler)})
	if err = errors.Join(filled, err); err != nil {
		return err
	}
	for _, do := range story {
		method, path, _ := strings.Cut(do.request, " ")
		r := httptest.NewRequestWithContext(p, method, path, strings.NewReader(do.body))
		if strings.HasPrefix(path, "/admin/") {
			r.Header.Set("Authorization", "Bearer k")
		}
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		status := strings.TrimPrefix(w.Header().Get("Cache-Status"), "twofold;")
		fmt.Fprintf(p.out, "%-31s %-34s %d %-20s %s\n", do.say, do.request, w.Code, status, do.call)
		if !strings.Contains(w.Body.String(), do.want) || !strings.Contains(status, do.cached) {
			err = fmt.Errorf("%s: want %q in the answer and %q in Cache-Status", do.say, do.want, do.cached)
		}
	}
	return errors.Join(err, site.Close(p))
}
