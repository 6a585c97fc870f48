package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// visitor goes to a site, as the public and as its author.
type visitor struct {
	*site
	t   *testing.T
	now time.Time
}

func visit(t *testing.T) *visitor {
	t.Helper()
	v := &visitor{t: t, now: sitetest.Now()}
	v.site = newSite(sitetest.Slim(t), siteConfig{
		adminKey: "k", now: func() time.Time { return v.now }, log: slog.New(slog.DiscardHandler),
	})
	return v
}

// do makes a request such as "GET /" and returns the answer, its status first.
func (v *visitor) do(call, body string) string {
	v.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	r := httptest.NewRequestWithContext(v.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer k")
	r.Header.Set("X-API-Key", sitetest.APIKey)
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	if strings.HasPrefix(path, "/admin/") && w.Code/100 != 2 {
		v.t.Errorf("%s = %d: %s", call, w.Code, w.Body)
	}
	return http.StatusText(w.Code) + "\n" + w.Header().Get("Location") + "\n" + w.Body.String()
}

// public are pages of each kind. The first post of the seed has the id 1, the slug
// the-cost-of-a-miss and the tag caching. A new one gets the id 249.
var public = []string{
	"/", "/?page=2", "/?page=6", "/zh/", "/posts/the-cost-of-a-miss", "/posts/moved", "/posts/new", "/posts/feet-first", "/p/1", "/p/249",
	"/pages/about", "/pages/who", "/tags/caching", "/tags/caches", "/tags/soil", "/zh/tags/caching", "/months/2024-05", "/months/2026-11",
	"/rss.xml", "/atom.xml", "/zh/rss.xml", "/sitemap.xml", "/robots.txt", "/api/v1/posts", "/api/v1/posts/the-cost-of-a-miss", "/api/v1/posts/new",
	"/api/v1/pages/about", "/api/v1/tags", "/api/v1/months",
}

// Every write path changes the pages that it should, and no other, at once.
func TestWritesReachPages(t *testing.T) {
	seeded := visit(t).all()
	for _, tt := range writes {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := visit(t)
			before := seeded
			if tt.before != nil {
				tt.before(v)
				before = v.all()
			}
			tt.do(v)
			after, want := v.all(), map[string]bool{}
			for _, path := range tt.want {
				want[path] = true
			}
			for _, path := range public {
				if changed := before[path] != after[path]; changed != want[path] {
					t.Errorf("%s has changed: %v, want %v", path, changed, want[path])
				}
			}
		})
	}
}

// all returns all of the public pages.
func (v *visitor) all() map[string]string {
	v.t.Helper()
	all := map[string]string{}
	for _, path := range public {
		all[path] = v.do("GET "+path, "")
	}
	return all
}
