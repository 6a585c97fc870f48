// Package warm loads pages into the cache before readers request them: at the start and after
// writes.
package warm

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

// Config configures a Warmer. All fields are required.
type Config struct {
	// Load caches the page at a path. It may run late: the cache refuses loads older than an
	// invalidation.
	Load  func(ctx context.Context, path string) error
	Delay time.Duration // from the first write to the warm-up, so that a burst of writes causes only one
	Max   int           // the most paths that may wait. Add drops further ones
	Log   *slog.Logger
}

// Warmer is a queue of paths without duplicates. All methods may be called concurrently.
type Warmer struct {
	cfg  Config
	wake chan struct{} // holds an element while paths wait

	mu      sync.Mutex // protects waiting and stats
	waiting []string   // oldest first
	stats   Stats
}

// Stats are the statistics of a Warmer since it was created.
type Stats struct {
	Waiting int   // now
	Warmed  int64 // successfully
	Failed  int64
	Dropped int64         // because Max paths waited
	Took    time.Duration // of all warmed and failed paths
}

// New returns a Warmer.
func New(cfg Config) *Warmer { return &Warmer{cfg: cfg, wake: make(chan struct{}, 1)} }

// Add adds paths. It does not wait.
func (w *Warmer) Add(paths ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range paths {
		switch {
		case slices.Contains(w.waiting, path):
		case len(w.waiting) >= w.cfg.Max:
			w.stats.Dropped++
		default:
			w.waiting = append(w.waiting, path)
		}
	}
	if len(w.waiting) > 0 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Run warms up the first pages of the site that r reads, then the added paths, until ctx ends.
func (w *Warmer) Run(ctx context.Context, r content.Reader) {
	paths, err := Front(ctx, r)
	if err != nil && ctx.Err() == nil {
		w.cfg.Log.WarnContext(ctx, "the pages to warm up at the start could not be read", "err", err)
	}
	w.Add(paths...)
	w.flush(ctx)
	w.cfg.Log.InfoContext(ctx, "the first pages are warm", "paths", len(paths))
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(w.cfg.Delay):
		case <-ctx.Done():
			return
		}
		w.flush(ctx)
	}
}

func (w *Warmer) flush(ctx context.Context) {
	for ctx.Err() == nil {
		path, ok := w.next()
		if !ok {
			return
		}
		begun := time.Now()
		err := w.cfg.Load(ctx, path)
		w.mu.Lock()
		w.stats.Took += time.Since(begun)
		if err != nil {
			w.stats.Failed++
		} else {
			w.stats.Warmed++
		}
		w.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			w.cfg.Log.WarnContext(ctx, "warm-up failed", "path", path, "err", err)
		}
	}
}

// next removes the oldest path from the queue. A later write adds it again.
func (w *Warmer) next() (path string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return "", false
	}
	path, w.waiting = w.waiting[0], w.waiting[1:]
	return path, true
}

// Stats returns the statistics.
func (w *Warmer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Waiting = len(w.waiting)
	return s
}

const sitemap = "/sitemap.xml"

func front(l content.Lang) []string {
	return []string{l.Path("/"), l.Path("/rss.xml"), l.Path("/atom.xml")}
}

// After adds the pages that readers are likely to request after a write.
func (w *Warmer) After(c service.Change) {
	var paths []string
	everywhere := slices.Contains(c.Entities, content.SettingsEntity) || slices.Contains(c.Entities, content.NavigationEntity)
	if c.Path != "" {
		paths = append(paths, c.Path)
	}
	for _, l := range content.Langs {
		if everywhere || slices.Contains(c.Entities, content.PostsEntity(l)) {
			paths = append(paths, front(l)...)
		}
	}
	if everywhere || slices.Contains(c.Entities, content.SitemapEntity) {
		paths = append(paths, sitemap)
	}
	w.Add(paths...)
}

// firstPages is the number of pages of each list to warm up at the start.
const firstPages = 3

// Front returns the paths to warm up when the site starts.
func Front(ctx context.Context, r content.Reader) (paths []string, err error) {
	set, err := r.Settings(ctx)
	if err != nil {
		return nil, err
	}
	for _, lang := range content.Langs {
		paths = append(paths, front(lang)...)
		for n := 1; n <= firstPages; n++ {
			l, err := r.ListPosts(ctx, content.Filter{Lang: lang}, content.Window{Number: n, Size: set.PostsPerPage})
			if err != nil {
				return nil, err
			}
			if n > 1 && len(l.Posts) > 0 {
				paths = append(paths, lang.Path("/?page="+strconv.Itoa(n)))
			}
			for _, p := range l.Posts {
				paths = append(paths, p.Path())
			}
		}
	}
	paths = append(paths, sitemap, "/robots.txt")
	nav, err := r.Navigation(ctx)
	for _, n := range nav {
		if strings.HasPrefix(n.URL, "/") {
			paths = append(paths, n.URL)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), err
}
