// Package server serves the feeds and the state of the tracker.
//
//	GET /{site}/rss.xml   the feed; 503 before the first one
//	GET /healthz          503 when a feed is stale
//	GET /readyz           503 when the database does not answer
//	GET /stats            statistics, as JSON
package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/examples/rsstracker/config"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
	"github.com/twofold-go/twofold/policy"
)

// freshFor is how long the server may miss a file that was edited by hand. A run purges the cache.
const freshFor = 30 * time.Second

// Config configures a server. Keeper, Tiers, Dir and Log are required.
type Config struct {
	Keeper *state.Keeper
	Tiers  *cache.Tiers
	Dir    string // the tracker writes the feeds below it
	Sites  []config.Site
	Now    func() time.Time // nil means time.Now
	Log    *slog.Logger
}

// Server serves feeds. All methods may be called concurrently.
type Server struct {
	*http.ServeMux
	cfg   Config
	names []string // of the sites
	pages *httpcache.Cache
}

// New returns a server.
func New(cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	pages, err := httpcache.New(httpcache.Config{
		Tiers: cfg.Tiers, Namespace: "feed:v2", Name: "rsstracker", Preset: httpcache.Pages, Now: cfg.Now, Logger: cfg.Log,
		Policy: policy.Patch{TTL: new(freshFor)}, MaxBody: 8 << 20, Encodings: []httpcache.Encoding{httpcache.Gzip(0)},
		Statuses: []int{http.StatusOK},
		Query:    func(string) ([]string, bool) { return nil, true }, // queries are ignored
	})
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s := &Server{cfg: cfg, pages: pages, ServeMux: http.NewServeMux()}
	for _, site := range cfg.Sites {
		s.names = append(s.names, site.Name)
	}
	s.Handle("GET /{site}/"+feed.File, pages.Handler(http.HandlerFunc(s.feed)))
	s.HandleFunc("GET /healthz", s.known(s.health))
	s.HandleFunc("GET /readyz", s.known(func([]state.Stats) (int, any) { return http.StatusOK, map[string]any{"ready": true} }))
	s.HandleFunc("GET /stats", s.known(s.stats))
	return s, nil
}

// Close waits for running loads of feeds, or until ctx ends.
func (s *Server) Close(ctx context.Context) error { return s.pages.Close(ctx) }
func tag(site string) string                      { return "feeds:" + site }

// Refresh invalidates a site's feeds in all processes, after they were written.
func (s *Server) Refresh(ctx context.Context, site string) {
	if err := s.pages.PurgeTags(ctx, tag(site)); err != nil {
		s.cfg.Log.WarnContext(ctx, "other processes serve the old feed for up to "+freshFor.String(), "site", site, "err", err)
	}
}

// feed serves the file that the tracker wrote last, so readers do not depend on the database.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) {
	site := r.PathValue("site")
	if !slices.Contains(s.names, site) {
		http.NotFound(w, r)
		return
	}
	cache.Depend(r.Context(), tag(site))
	file, err := os.Open(filepath.Join(track.Folder(s.cfg.Dir, site), feed.File))
	if err != nil {
		s.cfg.Log.WarnContext(r.Context(), "the site has no feed yet; run it", "site", site, "err", err)
		w.Header().Set("Retry-After", "60")
		http.Error(w, "The feed is not ready yet.", http.StatusServiceUnavailable)
		return
	}
	defer file.Close() //nolint:errcheck // nothing was written
	var written time.Time
	if info, err := file.Stat(); err == nil {
		written = info.ModTime()
	}
	h := w.Header()
	h.Set("Content-Type", feed.ContentType)
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", written, file)
}

type health struct {
	state.Site
	Age   int  `json:"age_seconds,omitempty"` // of the last success
	Stale bool `json:"stale"`
}

// health returns 503 when a feed is stale: a stopped tracker still serves its last feed.
func (s *Server) health(known []state.Stats) (status int, body any) {
	all, status, now := []health{}, http.StatusOK, s.cfg.Now()
	for i, site := range s.cfg.Sites {
		last := known[i].LastSuccess
		h := health{Site: known[i].Site, Stale: site.Stale(last, now)}
		if !last.IsZero() {
			h.Age = int(now.Sub(last).Seconds())
		}
		if h.Stale {
			status = http.StatusServiceUnavailable
		}
		all = append(all, h)
	}
	return status, map[string]any{"sites": all}
}

// stats returns the statistics of the sites and of the cache.
func (s *Server) stats(known []state.Stats) (status int, body any) {
	c, feeds := s.cfg.Tiers.Stats().Total.Reads, s.pages.Stats()
	return http.StatusOK, map[string]any{
		"sites": known,
		"cache": map[string]int64{"local_hits": c.LocalHits, "remote_hits": c.RemoteHits, "misses": c.Misses, "merged": c.Merged, "negatives": c.Negatives},
		"feeds": map[string]int64{"hits": feeds.Hits, "misses": feeds.Misses, "not_modified": feeds.NotModified},
	}
}

// known returns a handler that passes the statistics of the sites to reply.
func (s *Server) known(reply func([]state.Stats) (status int, body any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var all []state.Stats
		store, err := s.cfg.Keeper.Store(r.Context())
		if err == nil {
			all, err = store.Stats(r.Context(), s.cfg.Now(), s.names...)
		}
		var status int
		var body any
		if err == nil {
			status, body = reply(all)
		} else {
			s.cfg.Log.ErrorContext(r.Context(), "the database does not answer", "path", r.URL.Path, "err", err)
			status, body = http.StatusServiceUnavailable, map[string]any{"error": "the database does not answer"}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(body) // an error means that the client has left
	}
}
