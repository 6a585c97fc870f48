// Package server serves the feeds, and says how the tracker is doing.
//
//	GET /{site}/rss.xml, atom.xml, feed.json   the feed
//	GET /healthz                               503 when feeds have gone stale
//	GET /readyz                                503 when the database does not answer
//	GET /stats, /{site}/stats                  numbers, as JSON
//	GET /                                      the feeds there are
//
// Feeds are cached as bytes through the library. What a read finds may be: the cache,
// then the database, and, when that cannot be asked, the last good feed of the cache,
// then that of the file.
package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// How long rendered feeds are kept. A run refreshes them, and expires those of other
// processes, so freshFor matters to what is changed by hand.
const (
	freshFor = 30 * time.Second
	lastGood = 7 * 24 * time.Hour // while they cannot be rendered
)

// Site is a site that is served.
type Site struct {
	track.Site
	MaxAge time.Duration // since its last success, before it counts as stale. 0: it never does
	Full   bool          // it is run in full mode: the feed is in its files and not in the database
}

// Config says what a server is made of. Keeper, Tiers and Dir are required.
type Config struct {
	Keeper *state.Keeper
	Tiers  *cache.Tiers
	Dir    string // that the tracker writes feeds below
	Sites  []Site
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: slog.Default
}

// Server serves feeds. All methods may be called concurrently.
type Server struct {
	cfg   Config
	sites map[string]Site
	feeds cache.Cache[key, feed.Rendered]
	mux   *http.ServeMux
}

// key is what a rendered feed is cached by. The print is of the site's settings: two
// processes with different ones do not share feeds.
type key struct {
	Site, Print string
	Format      feed.Format
}

// errNotReady means that the database knows nothing of a site, or nothing yet: it was
// lost and is being rebuilt. An empty feed would be wrong then.
var errNotReady = errors.New("server: the site has no baseline")

// New returns a server.
func New(cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	s := &Server{cfg: cfg, sites: map[string]Site{}, mux: http.NewServeMux()}
	for _, site := range cfg.Sites {
		s.sites[site.Name] = site
	}
	var err error
	s.feeds, err = cache.New(cfg.Tiers, cache.Config[key, feed.Rendered]{
		Namespace: "feed:v1",
		Load:      s.render,
		Codec:     codec.CBOR, // bytes as they are
		Size:      func(r feed.Rendered) int64 { return int64(len(r.Body) + len(r.Gzip)) },
		Policy: policy.Patch{
			TTL: new(freshFor), StaleIfError: new(lastGood), SoftTimeout: new(2 * time.Second), LoadTimeout: new(15 * time.Second), MaxValueBytes: new(8 << 20),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	for _, f := range feed.Formats {
		s.mux.HandleFunc("GET /{site}/"+f.File(), func(w http.ResponseWriter, r *http.Request) { s.feed(w, r, f) })
	}
	s.mux.HandleFunc("GET /healthz", s.health)
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.HandleFunc("GET /stats", s.stats)
	s.mux.HandleFunc("GET /{site}/stats", s.stats)
	s.mux.HandleFunc("GET /{$}", s.index)
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Refresh renders the feeds of a site anew, after a run. Readers are served the old
// ones meanwhile, and if it fails. Other processes render theirs when they are asked.
func (s *Server) Refresh(ctx context.Context, name string) {
	site, ok := s.sites[name]
	if !ok {
		return
	}
	var all []invalidate.Scope
	for _, f := range feed.Formats {
		all = append(all, s.feeds.Key(site.key(f)))
	}
	if err := s.cfg.Tiers.Expire(ctx, all...); err != nil {
		s.cfg.Log.WarnContext(ctx, "other processes serve the old feed a little longer", "site", name, "err", err)
	}
	for _, f := range feed.Formats {
		if err := s.feeds.Refresh(ctx, site.key(f)); err != nil {
			s.cfg.Log.WarnContext(ctx, "the cached feed was not refreshed", "site", name, "format", f.File(), "err", err)
		}
	}
}

func (s Site) key(f feed.Format) key {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d", fmt.Sprintf("%+v", s.Channel), s.Window)
	return key{Site: s.Name, Print: hex.EncodeToString(h.Sum(nil)[:8]), Format: f}
}

// render makes a feed of what the database holds.
func (s *Server) render(ctx context.Context, k key) (feed.Rendered, error) {
	site, ok := s.sites[k.Site]
	if !ok {
		return feed.Rendered{}, cache.ErrNotFound
	}
	if site.Full {
		return s.lastFile(site, k.Format)
	}
	store, err := s.cfg.Keeper.Store(ctx)
	if err != nil {
		return feed.Rendered{}, err
	}
	known, err := store.Site(ctx, k.Site)
	if err != nil {
		return feed.Rendered{}, err
	}
	if known.Baseline.IsZero() {
		return feed.Rendered{}, errNotReady
	}
	window, err := store.Window(ctx, known.ID, site.Items())
	if err != nil {
		return feed.Rendered{}, err
	}
	return feed.Render(k.Format, site.Channel, track.ToFeed(window))
}

// lastFile returns the feed that the tracker wrote last.
func (s *Server) lastFile(site Site, f feed.Format) (feed.Rendered, error) {
	path := filepath.Join(track.Folder(s.cfg.Dir, site.Name), f.File())
	b, err := os.ReadFile(path)
	if err != nil {
		return feed.Rendered{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return feed.Rendered{}, err
	}
	return feed.Packed(f, b, info.ModTime().UTC().Truncate(time.Second)), nil
}
