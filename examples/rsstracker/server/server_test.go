package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/rsstracker/config"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/server"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

// source is a site with a number of pages.
type source struct {
	pages int
	down  bool
}

func (s *source) Sitemap(_ context.Context, url string) (fetch.Response, error) {
	if s.down {
		return fetch.Response{}, &fetch.StatusError{Code: 503}
	}
	body := "<urlset>"
	for i := range s.pages {
		body += "<url><loc>/p" + string(rune('a'+i)) + "</loc><lastmod>2026-01-02</lastmod></url>"
	}
	body += "</urlset>"
	return fetch.Response{URL: url, Body: []byte(body), Hash: body}, nil
}

func (s *source) Discover(context.Context, string) ([]string, error) { return nil, nil }

func (s *source) Page(_ context.Context, r track.PageRequest) (track.Page, error) {
	return track.Page{Meta: page.Meta{Title: "Title of " + r.URL, Hash: "h"}}, nil
}

// rig is a server on a site after one run, in a bubble of virtual time.
type rig struct {
	t       *testing.T
	dir     string
	keeper  *state.Keeper
	source  *source
	tracker *track.Tracker
	server  *server.Server
	site    config.Site
}

func with(t *testing.T, fn func(r *rig)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		tiers, err := cache.Open(cache.TiersConfig{Logger: log})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, dir: dir, source: &source{pages: 2}}
		r.keeper = state.NewKeeper(filepath.Join(dir, "rss.db"), sqlite.Off, time.Now, log)
		defer func() {
			if err := r.server.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
			if err := tiers.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
			if err := r.keeper.Close(); err != nil {
				t.Error(err)
			}
		}()
		r.site = config.Default()
		r.site.Name, r.site.SitemapURL, r.site.CleanupDays = "example", "https://example.com/s.xml", 41
		r.site.Channel = feed.Channel{Title: "Example", Link: "https://example.com/", Base: "https://f.example/example"}
		if r.server, err = server.New(server.Config{Keeper: r.keeper, Tiers: tiers, Dir: dir, Sites: []config.Site{r.site}, Log: log}); err != nil {
			t.Fatal(err)
		}
		r.tracker = track.New(track.Config{Keeper: r.keeper, Source: r.source, Dir: dir, Log: log, Rendered: r.server.Refresh})
		fn(r)
	})
}

func (r *rig) run() {
	r.t.Helper()
	if _, err := r.tracker.Run(r.t.Context(), r.site); err != nil {
		r.t.Fatal(err)
	}
}

// get requests a path, with headers as pairs of names and values.
func (r *rig) get(path string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.ask(http.MethodGet, path, headers...)
}

func (r *rig) ask(method, path string, headers ...string) *httptest.ResponseRecorder {
	q := httptest.NewRequestWithContext(r.t.Context(), method, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		q.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.server.ServeHTTP(w, q)
	return w
}

// breakDatabase makes the database unusable, even for open connections.
func (r *rig) breakDatabase() {
	r.t.Helper()
	if err := r.keeper.Close(); err != nil {
		r.t.Fatal(err)
	}
	for _, f := range []string{"rss.db", "rss.db-wal", "rss.db-shm"} {
		if err := os.RemoveAll(filepath.Join(r.dir, f)); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(r.dir, "rss.db"), 0o700); err != nil { // no file can be opened or created there
		r.t.Fatal(err)
	}
}

func TestFeeds(t *testing.T) {
	with(t, func(r *rig) {
		if w := r.get("/example/rss.xml"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("before the first run: %d", w.Code)
		}
		r.run()
		w := r.get("/example/rss.xml")
		file, err := os.ReadFile(filepath.Join(r.dir, "example", feed.File))
		if err != nil || w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), file) {
			t.Errorf("%d, like the file %v, %v", w.Code, bytes.Equal(w.Body.Bytes(), file), err)
		}
		h := w.Header()
		if h.Get("Content-Type") != feed.ContentType || h.Get("ETag") == "" || h.Get("Last-Modified") == "" || h.Get("Vary") != "Accept-Encoding" || h.Get("Cache-Control") == "" {
			t.Error(h)
		}
		if s := r.get("/example/rss.xml").Header().Get("Cache-Status"); !strings.HasPrefix(s, "rsstracker;hit") {
			t.Errorf("the second reader gets %s", s)
		}
		for path, want := range map[string]int{"/nobody/rss.xml": 404, "/example/rss": 404, "/example/": 404, "/": 404} {
			if w := r.get(path); w.Code != want {
				t.Errorf("%s: %d, want %d", path, w.Code, want)
			}
		}
		if w := r.ask(http.MethodPost, "/example/rss.xml"); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST: %d", w.Code)
		}
	})
}

func TestConditions(t *testing.T) {
	with(t, func(r *rig) {
		r.source.pages = 10 // shorter feeds are not compressed
		r.run()
		first := r.get("/example/rss.xml").Header()
		tag, date := first.Get("ETag"), first.Get("Last-Modified")
		zipped := r.get("/example/rss.xml", "Accept-Encoding", "gzip").Header().Get("ETag")
		for _, c := range []struct {
			headers []string
			want    int
		}{
			{[]string{"If-None-Match", tag}, 304},
			{[]string{"If-None-Match", "W/" + tag}, 304},
			{[]string{"If-None-Match", `"x", ` + tag}, 304},
			{[]string{"If-None-Match", "*"}, 304},
			{[]string{"If-None-Match", `"x"`}, 200},
			{[]string{"If-None-Match", `"x"`, "If-Modified-Since", date}, 200}, // the ETag has precedence
			{[]string{"If-Modified-Since", date}, 304},
			{[]string{"If-Modified-Since", "Fri, 31 Dec 1999 15:04:05 GMT"}, 200},
			{[]string{"If-None-Match", zipped, "Accept-Encoding", "gzip"}, 304},
			{[]string{"If-None-Match", tag, "Accept-Encoding", "gzip"}, 200}, // a different representation
			{[]string{"Range", "bytes=0-3"}, 206},
		} {
			w := r.get("/example/rss.xml", c.headers...)
			if w.Code != c.want || (c.want == 304) != (w.Body.Len() == 0) {
				t.Errorf("%q: %d with %d bytes, want %d", c.headers, w.Code, w.Body.Len(), c.want)
			}
		}
		// Unchanged input: after a later run, the reader's copy is still valid.
		<-time.After(time.Hour)
		r.run()
		if w := r.get("/example/rss.xml", "If-None-Match", tag); w.Code != http.StatusNotModified {
			t.Errorf("after a run without news: %d", w.Code)
		}
		r.source.pages++
		<-time.After(time.Hour)
		r.run()
		if w := r.get("/example/rss.xml", "If-None-Match", tag, "If-Modified-Since", date); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "/pk") {
			t.Errorf("after a run with news: %d", w.Code)
		}
	})
}

// TestLastGoodFeed: while the database does not answer, readers get the same feed as before.
func TestLastGoodFeed(t *testing.T) {
	with(t, func(r *rig) {
		r.run()
		before := r.get("/example/rss.xml")
		r.breakDatabase()
		for _, later := range []time.Duration{time.Minute, 24 * time.Hour, 8 * 24 * time.Hour} {
			<-time.After(later)
			w := r.get("/example/rss.xml")
			if w.Code != http.StatusOK || w.Body.String() != before.Body.String() || w.Header().Get("ETag") != before.Header().Get("ETag") {
				t.Errorf("%v later: %d, the same %v", later, w.Code, w.Body.String() == before.Body.String())
			}
			if w := r.get("/example/rss.xml", "If-None-Match", before.Header().Get("ETag")); w.Code != http.StatusNotModified {
				t.Errorf("%v later: %d to a reader that has it", later, w.Code)
			}
		}
		if w := r.get("/healthz"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("healthz: %d", w.Code)
		}
		if w := r.get("/readyz"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("readyz: %d", w.Code)
		}
	})
}

func TestHealth(t *testing.T) {
	with(t, func(r *rig) {
		if w := r.get("/healthz"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("before the first run: %d", w.Code)
		}
		r.run()
		if w := r.get("/healthz"); w.Code != http.StatusOK {
			t.Errorf("after a run: %d %s", w.Code, w.Body)
		}
		<-time.After(7 * time.Hour)
		w := r.get("/healthz")
		var got struct {
			Sites []struct {
				Site  string
				Age   int `json:"age_seconds"`
				Stale bool
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusServiceUnavailable || len(got.Sites) != 1 || !got.Sites[0].Stale || got.Sites[0].Age != 7*3600 {
			t.Errorf("after seven hours: %d %+v", w.Code, got)
		}
		if w := r.get("/readyz"); w.Code != http.StatusOK {
			t.Errorf("readyz: %d", w.Code)
		}
	})
}

func TestStats(t *testing.T) {
	with(t, func(r *rig) {
		r.run()
		for _, path := range []string{"/stats"} {
			var got struct {
				Sites []struct {
					Site  string
					Items int
					Pages state.PageCounts
				}
				Cache map[string]int64
			}
			w := r.get(path)
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if w.Code != http.StatusOK || len(got.Sites) != 1 || got.Sites[0].Items != 2 || got.Sites[0].Pages.Done != 2 || len(got.Cache) != 5 {
				t.Errorf("%s: %d %+v", path, w.Code, got)
			}
		}
	})
}
