package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
)

// hit is in the Cache-Status of an answer from the cache.
const hit = ";hit"

// visitor visits a site, as the public and as its author.
type visitor struct {
	*site
	t       *testing.T
	now     time.Time
	queries func() int64 // of the database
}

func visit(t *testing.T, cached bool) *visitor {
	t.Helper()
	s := sitetest.Seeded(t)
	v := &visitor{t: t, now: sitetest.Now(), queries: s.Queries}
	v.site = build(t, s, siteConfig{uncached: !cached, now: func() time.Time { return v.now }})
	return v
}

// build returns a site on a database, which waits for its log on a busy machine. The test closes it at
// its end.
func build(tb testing.TB, s *store.Store, cfg siteConfig) *site {
	tb.Helper()
	cfg.adminKey, cfg.log, cfg.patience, cfg.link = "k", cmp.Or(cfg.log, slog.New(slog.DiscardHandler)), patience, patiently
	site, err := newSite(s, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := site.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return site
}

// do makes a request such as "GET /" and returns the answer, which begins with the status.
func (v *visitor) do(call, body string) string {
	v.t.Helper()
	return textOf(v.ask(call, body))
}

func textOf(w *httptest.ResponseRecorder) string {
	return http.StatusText(w.Code) + "\n" + w.Header().Get("Location") + "\n" + w.Header().Get("ETag") + "\n" + w.Body.String()
}

// ask makes a request such as "GET /". A write must succeed.
func (v *visitor) ask(call, body string) *httptest.ResponseRecorder {
	v.t.Helper()
	w := v.raw(call, body)
	if !strings.HasPrefix(call, http.MethodGet) && w.Code/100 != 2 {
		v.t.Errorf("%s = %d: %s", call, w.Code, w.Body)
	}
	return w
}

// raw is ask for any status.
func (v *visitor) raw(call, body string) *httptest.ResponseRecorder {
	v.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	r := httptest.NewRequestWithContext(v.t.Context(), method, path, strings.NewReader(body))
	if strings.HasPrefix(path, "/admin/") {
		r.Header.Set("Authorization", "Bearer k")
	} else {
		r.Header.Set("X-API-Key", sitetest.APIKey)
	}
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	return w
}

// public are pages of each kind. The first post of the seed has the id 1, the slug
// the-cost-of-a-miss and the tag caching. A new one gets the id 57.
var public = []string{
	"/", "/?page=2", "/?page=6", "/posts/the-cost-of-a-miss", "/posts/moved", "/posts/new", "/posts/feet-first", "/p/1", "/p/57",
	"/pages/about", "/pages/who", "/tags/caching", "/tags/caches", "/tags/soil", "/months/2024-05", "/months/2026-11",
	"/rss.xml", "/sitemap.xml", "/robots.txt", "/api/v1/posts", "/api/v1/posts/the-cost-of-a-miss", "/api/v1/posts/new",
	"/api/v1/pages/about", "/api/v1/tags", "/api/v1/months",
}

// writesReachPages: every kind of write changes exactly the expected pages, at once, with and without the
// caches. With them, unchanged pages are still cached.
func writesReachPages(t *testing.T) {
	for _, cached := range []bool{true, false} {
		seeded := visit(t, cached).all()
		for _, tt := range writes {
			t.Run(fmt.Sprintf("%s, cached=%t", tt.name, cached), func(t *testing.T) {
				t.Parallel()
				tt.test(t, cached, seeded)
			})
			if do, ok := byAPI[tt.name]; ok {
				tt.do = do
				t.Run(fmt.Sprintf("%s by API, cached=%t", tt.name, cached), func(t *testing.T) {
					t.Parallel()
					tt.test(t, cached, seeded)
				})
			}
		}
	}
}

// test makes the write on its own site, and compares the pages.
func (tt write) test(t *testing.T, cached bool, seeded map[string]answer) {
	t.Helper()
	v := visit(t, cached)
	if tt.before != nil {
		tt.before(v)
	}
	before := seeded
	if cached || tt.before != nil {
		before = v.all()
	}
	tt.do(v)
	after, want := v.all(), map[string]bool{}
	for _, path := range tt.want {
		want[path] = true
	}
	for _, path := range public {
		if changed := before[path].text != after[path].text; changed != want[path] {
			t.Errorf("%s has changed: %v, want %v", path, changed, want[path])
		}
	}
	if cached {
		tt.precise(t, before, after)
	}
}

// precise checks that the cache answered for the pages that the write does not concern.
func (tt write) precise(t *testing.T, before, after map[string]answer) {
	t.Helper()
	for _, path := range public {
		spared := !slices.Contains(tt.want, path) && !slices.Contains(remade[tt.name], path)
		if storable := before[path].stored && !strings.HasPrefix(after[path].text, "Not Found"); storable && after[path].hit != spared {
			t.Errorf("%s was answered by the cache: %v, want %v", path, after[path].hit, spared)
		}
	}
}

type answer struct {
	text        string // everything that distinguishes answers
	hit, stored bool   // from Cache-Status
}

// all returns the answers of all public pages.
func (v *visitor) all() map[string]answer {
	v.t.Helper()
	all := map[string]answer{}
	for _, path := range public {
		w := v.ask("GET "+path, "")
		status := w.Header().Get("Cache-Status")
		all[path] = answer{text: textOf(w), hit: strings.Contains(status, ";hit"), stored: strings.Contains(status, ";stored")}
	}
	return all
}
