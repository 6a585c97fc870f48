// Package warm loads the pages of plans into the cache before readers request them.
package warm

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
)

// Config configures a Warmer. All fields are required.
type Config struct {
	// Load caches the page at a path. It may run late: the cache refuses loads older than an
	// invalidation.
	Load    func(ctx context.Context, path string) error
	Reader  content.Reader // through the cache of objects, which a warm-up fills first
	Delay   time.Duration  // from the first write to the warm-up; a burst of writes then causes only one
	Batch   int            // the pages between two breaks of Delay
	Max     int            // the most paths that may wait. Add drops further ones
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Warmer is a queue of paths without duplicates. All methods may be called concurrently.
type Warmer struct {
	cfg  Config
	wake chan struct{} // holds an element while paths wait

	mu      sync.Mutex // protects waiting
	waiting []string   // oldest first

	took            prometheus.Histogram
	failed, dropped prometheus.Counter
}

// New returns a Warmer.
func New(cfg Config) *Warmer {
	w := &Warmer{cfg: cfg, wake: make(chan struct{}, 1)}
	f := promauto.With(prometheus.WrapRegistererWithPrefix("site_warm_", cfg.Metrics))
	w.took = f.NewHistogram(prometheus.HistogramOpts{Name: "seconds", Help: "Time of a warm-up of a page."})
	w.failed = f.NewCounter(prometheus.CounterOpts{Name: "failures_total", Help: "Warm-ups that failed."})
	w.dropped = f.NewCounter(prometheus.CounterOpts{Name: "dropped_total", Help: "Warm-ups without room. Their pages are cold, not stale."})
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: "queue_len", Help: "Pages that wait for a warm-up."}, func() float64 { return float64(len(w.Waiting())) })
	return w
}

// Waiting returns the paths that wait.
func (w *Warmer) Waiting() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waiting)
}

// Add adds paths. It does not wait.
func (w *Warmer) Add(paths ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range paths {
		switch {
		case slices.Contains(w.waiting, path):
		case len(w.waiting) >= w.cfg.Max:
			w.dropped.Inc()
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

// Run warms up the added paths until ctx ends. The log says when the warm-up of the start has ended.
func (w *Warmer) Run(ctx context.Context) {
	starting, pages, begun := false, 0, time.Now()
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
		w.Add() // wakes up again if more than a batch waits
		for range w.cfg.Batch {
			path, ok := w.next()
			if !ok || ctx.Err() != nil {
				break
			}
			starting = starting || path == events.Front
			w.load(ctx, path)
			pages++
		}
		if starting && ctx.Err() == nil && len(w.Waiting()) == 0 {
			w.cfg.Log.InfoContext(ctx, "the warm-up of the start has ended", "pages", pages-1, "took", time.Since(begun).Round(time.Millisecond)) // one was events.Front
			starting = false
		}
	}
}

func (w *Warmer) load(ctx context.Context, path string) {
	begun := time.Now()
	var err error
	if path == events.Front {
		var paths []string
		paths, err = front(ctx, w.cfg.Reader)
		w.Add(paths...)
	} else {
		err = w.cfg.Load(ctx, path)
	}
	if err == nil {
		w.took.Observe(time.Since(begun).Seconds())
	} else if ctx.Err() == nil {
		w.failed.Inc()
		w.cfg.Log.WarnContext(ctx, "warm-up failed", "path", path, "err", err)
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

// firstPages is the number of pages of each list to warm up at the start.
const firstPages = 3

// front reads the objects that all pages show, and returns the paths to warm up at the start: the
// lists, feeds and sitemap, the newest posts, and the pages of the navigation.
func front(ctx context.Context, r content.Reader) (paths []string, err error) {
	set, err := r.Settings(ctx)
	if err != nil {
		return nil, err
	}
	nav, err := r.Navigation(ctx)
	for _, n := range nav {
		if strings.HasPrefix(n.URL, "/") {
			paths = append(paths, n.URL)
		}
	}
	_, e := r.TagCounts(ctx)
	_, e2 := r.MonthCounts(ctx)
	err = errors.Join(err, e, e2)
	for n := 1; n <= firstPages; n++ {
		l, e := r.ListPosts(ctx, content.Filter{}, content.Window{Number: n, Size: set.PostsPerPage})
		err = errors.Join(err, e)
		if n > 1 && len(l.Posts) > 0 {
			paths = append(paths, "/?page="+strconv.Itoa(n))
		}
		for _, p := range l.Posts {
			paths = append(paths, p.Path())
		}
	}
	paths = append(paths, "/", "/rss.xml", "/sitemap.xml", "/robots.txt")
	slices.Sort(paths)
	return slices.Compact(paths), err
}
