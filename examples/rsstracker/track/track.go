// Package track makes one run of the tracker, from the sitemap to the feed. The process may be
// killed between any two steps. Nothing is lost: a page stays pending until its item is committed.
// Nothing is published twice: a page has one row and one item, which a unique index enforces.
package track

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/rsstracker/config"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// Source provides sitemaps and pages. All methods may be called concurrently.
type Source interface {
	// Sitemap returns a sitemap. Response.Open reads it, even if it was not modified.
	Sitemap(ctx context.Context, url string) (fetch.Response, error)

	// Discover returns the sitemaps that a robots.txt lists. An error means that they are unknown.
	Discover(ctx context.Context, url string) ([]string, error)

	// Page returns the metadata of a page, or [page.ErrNotHTML].
	Page(ctx context.Context, r PageRequest) (Page, error)
}

// PageRequest describes the page to get.
type PageRequest struct {
	URL     string
	LastMod time.Time // from the sitemap; an older cache entry is not used. Zero means unknown
	Fresh   bool      // no cache entry may be used, because the page has changed
}

// Page is a fetched page.
type Page struct {
	page.Meta
	Cached bool // whether it came from the cache
}

// Config configures a tracker. Keeper, Source, Dir and Log are required.
type Config struct {
	Keeper *state.Keeper
	Source Source
	Dir    string           // the feeds are written below it
	Now    func() time.Time // nil means time.Now
	Log    *slog.Logger
	Lease  time.Duration // how long a site stays locked after its run was killed; must exceed the time of one page. Zero means 10 minutes

	Rendered func(ctx context.Context, site string) // called after a run has written a site's feeds. May be nil
	At       func(point string)                     // for tests: called between any two steps. May be nil
}

// Tracker runs sites. All methods may be called concurrently.
type Tracker struct{ cfg Config }

// New returns a tracker.
func New(cfg Config) *Tracker {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Lease = cmp.Or(cfg.Lease, 10*time.Minute)
	if cfg.At == nil {
		cfg.At = func(string) {}
	}
	return &Tracker{cfg: cfg}
}

// Run makes one run of a site. If the database is damaged, it repeats the run on a new one (S-E12).
func (t *Tracker) Run(ctx context.Context, s config.Site) (Report, error) {
	rep, store, err := t.once(ctx, s, false)
	if errors.Is(err, sqlite.ErrCorrupt) {
		t.cfg.Log.ErrorContext(ctx, "the database is damaged; the run starts again on a new one", "site", s.Name, "err", err)
		if store != nil {
			if err := t.cfg.Keeper.Replace(store); err != nil {
				t.cfg.Log.WarnContext(ctx, "the damaged database could not be closed", "err", err)
			}
		}
		rep, _, err = t.once(ctx, s, false)
	}
	return rep, err
}

func (t *Tracker) once(ctx context.Context, s config.Site, full bool) (Report, *state.Store, error) {
	store, err := t.cfg.Keeper.Store(ctx)
	if err != nil {
		return Report{Site: s.Name}, nil, err
	}
	r := &run{Config: t.cfg, store: store, site: s, full: full, rep: Report{Site: s.Name, Started: t.cfg.Now()}}
	err = r.story(ctx)
	return r.rep, store, err
}

type run struct {
	Config
	store *state.Store
	site  config.Site
	full  bool // on its own temporary database, see [Tracker.Full]
	lease state.Lease
	walk  sitemap.Report
	rep   Report
}

func (r *run) story(ctx context.Context) error {
	var err error
	if r.lease, err = r.store.Begin(ctx, state.Start{
		Site: r.site.Name, SitemapURL: fetch.Redact(r.site.Source()), Scope: r.site.Scope(), TTL: r.Lease, Now: r.Now(),
	}); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"restore", r.restore}, {"sitemap", r.sitemaps}, {"detect", r.detect}, {"process", r.process},
		{"render", r.render}, {"prune", r.prune},
	} {
		r.At(step.name)
		if err := step.do(ctx); err != nil {
			return r.abort(ctx, fmt.Errorf("track: %s: %s: %w", r.site.Name, step.name, err))
		}
	}
	r.At("end")
	err = r.store.End(ctx, r.lease, r.Now(), r.outcome(), r.rep, nil)
	r.At("after")
	return err
}

func (r *run) abort(ctx context.Context, cause error) error {
	r.rep.Outcome = state.Failed
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // ctx may have ended the run
	defer cancel()
	err := r.store.End(ctx, r.lease, r.Now(), state.Failed, r.rep, cause)
	if err != nil && !errors.Is(err, state.ErrLeaseLost) && !errors.Is(cause, sqlite.ErrCorrupt) {
		r.Log.WarnContext(ctx, "the end of the run could not be recorded", "site", r.site.Name, "err", err)
	}
	return cause
}

func (r *run) outcome() state.Outcome {
	r.rep.Outcome = state.OK
	switch {
	case r.rep.readable == 0:
		r.rep.Outcome = state.Failed
	case !r.walk.Whole():
		r.rep.Outcome = state.Partial
	}
	return r.rep.Outcome
}

// restore restores the last good feed if the database has no baseline (S-E12).
func (r *run) restore(ctx context.Context) error {
	if r.full || !r.lease.Site.Baseline.IsZero() {
		return nil
	}
	var window []feed.Item
	b, err := os.ReadFile(r.file(windowFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, &window)
	}
	if err != nil {
		r.Log.WarnContext(ctx, "the last good feed cannot be restored", "site", r.site.Name, "file", windowFile, "err", err)
		return nil
	}
	if len(window) == 0 {
		return nil // nothing was ever published
	}
	r.rep.Restored, r.rep.Rebuilt = len(window), true
	return r.store.Restore(ctx, r.lease, r.Now(), window)
}

func (r *run) detect(ctx context.Context) (err error) {
	if r.rep.readable > 0 {
		rules := state.Rules{Now: r.Now(), Whole: r.walk.Whole(), Baseline: r.site.Baseline, Updates: r.site.Updates}
		if r.rep.Rebuilt {
			rules.Baseline = 0
		}
		r.rep.Detected, err = r.store.Detect(ctx, r.lease, rules)
	}
	return err
}

// prune deletes old rows, and checks the whole database every few days.
func (r *run) prune(ctx context.Context) error {
	const day = 24 * time.Hour
	p, err := r.store.Prune(ctx, r.lease, state.Keep{Now: r.Now(), Gone: time.Duration(r.site.HistoryDays) * day, Feed: r.site.Window})
	if err != nil {
		return err
	}
	r.rep.Pruned = p.URLs
	if since := r.Now().Sub(r.lease.Site.LastCleanup); since >= 0 && since < time.Duration(r.site.CleanupDays)*day {
		return nil
	}
	return r.store.Clean(ctx, r.lease, r.Now())
}

// ErrNothing means that full mode found no page for a feed. The last feed stays.
var ErrNothing = errors.New("track: found no page for the feed")

// Full makes a feed without the database: it is a first run on a temporary one.
func (t *Tracker) Full(ctx context.Context, s config.Site) (rep Report, err error) {
	dir, err := os.MkdirTemp("", "rsstracker-full-")
	if err != nil {
		return rep, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system clears temporary folders too
	cfg := t.cfg
	cfg.Keeper = state.NewKeeper(filepath.Join(dir, "full.db"), sqlite.Off, cfg.Now, cfg.Log)
	s.MaxPages, s.Baseline = s.Window, s.Window
	rep, _, err = (&Tracker{cfg}).once(ctx, s, true)
	if err = errors.Join(err, cfg.Keeper.Close()); err == nil && rep.Outcome == state.OK && rep.Published == 0 {
		err = fmt.Errorf("%w: %s", ErrNothing, s.Name)
	}
	return rep, err
}
