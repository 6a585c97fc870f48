// Package track is one run of the tracker, from the sitemap to the feed. Each step
// leaves the database in a state that the next run can go on from, so the process
// may be killed between any two of them:
//
//	begin    take the site's lease
//	restore  take the last good feed over, if the database knows nothing of the site
//	sitemap  read what has changed of the sitemaps; each in its own transaction
//	detect   compare what they list with what is known
//	process  fetch the pages that are new, changed, or failed before; each in its own
//	publish  make items of them, all at once
//	render   write the feeds
//	prune    forget what has been gone for long
//	end      give the lease back
//
// Nothing is lost because a page stays pending until its item is committed, in the
// transaction that makes it done. Nothing is published twice because a page has one
// row, found by the URL without its scheme, and one item, which a unique index holds.
// Feeds are a function of the items and are rendered at every run, so a crash before
// the rendering is made good by the next run.
package track

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// Source is where sitemaps and pages come from. All methods may be called
// concurrently.
type Source interface {
	// Sitemap returns a sitemap. Response.NotModified says that its hash is seen.
	// Its body is read by Response.Open.
	Sitemap(ctx context.Context, url, seen string) (fetch.Response, error)

	// Discover returns the sitemaps that the robots.txt of the URL's site names. None
	// and no error: it names none. An error: it is not known.
	Discover(ctx context.Context, url string) ([]string, error)

	// Page returns what is known of a page. A page that is no HTML is
	// [page.ErrNotHTML].
	Page(ctx context.Context, r PageRequest) (Page, error)
}

// PageRequest says which page to get.
type PageRequest struct {
	URL      string
	Selector string    // of its content; see [page.Parse]
	LastMod  time.Time // by the sitemap: what was cached before will not do. Zero: not known
	Fresh    bool      // nothing that is cached will do: the page has changed
}

// Page is a page that was got.
type Page struct {
	page.Meta
	Wire   int64 // bytes of bodies read from the network for it
	Cached bool  // the network was not used
}

// Config says what a tracker is made of. Keeper, Source and Dir are required.
type Config struct {
	Keeper *state.Keeper
	Source Source
	Dir    string           // that the feeds are written below
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: slog.Default

	// Lease is how long a site stays locked after its run died. It must be longer
	// than a page may take, waiting for the host included. 0: 10 minutes.
	Lease time.Duration

	// Rendered is called when a site's feeds were written. Nil: nobody is told.
	Rendered func(ctx context.Context, site string)

	// At is called between any two steps, with the name of the point. It is for
	// tests, which end the process there. Nil: nothing is called.
	At func(point string)
}

// Tracker runs sites. All methods may be called concurrently.
type Tracker struct{ cfg Config }

// New returns a tracker.
func New(cfg Config) *Tracker {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Lease <= 0 {
		cfg.Lease = 10 * time.Minute
	}
	if cfg.At == nil {
		cfg.At = func(string) {}
	}
	return &Tracker{cfg: cfg}
}

// Mode is what a run is for.
type Mode uint8

// The modes.
const (
	Incremental Mode = iota // what is new since the last run
	Baseline                // everything there is now is old
)

// Run makes one run of a site and returns its report, which is also kept in the
// database. Faults of the site are in the report; the error is for what kept the run
// from ending: the database, the context, or another run, see the errors of package
// state.
//
// If the database is corrupt, a new one takes its place and the run begins again, as
// a silent baseline (S-E12): everything is recorded, nothing is published, and the
// feed stays the last good one.
func (t *Tracker) Run(ctx context.Context, s Site, m Mode) (Report, error) {
	rep, store, err := t.once(ctx, s, m)
	if errors.Is(err, state.ErrCorrupt) {
		t.cfg.Log.ErrorContext(ctx, "the database is corrupt", "site", s.Name, "err", err)
		if store != nil {
			if err := t.cfg.Keeper.Replace(store); err != nil {
				t.cfg.Log.WarnContext(ctx, "closing the corrupt database", "err", err)
			}
		}
		rep, _, err = t.once(ctx, s, m)
	}
	return rep, err
}

func (t *Tracker) once(ctx context.Context, s Site, m Mode) (Report, *state.Store, error) {
	store, err := t.cfg.Keeper.Store(ctx)
	if err != nil {
		return Report{Site: s.Name}, nil, err
	}
	r := &run{Config: t.cfg, store: store, site: s, mode: m, rep: Report{Site: s.Name, Started: t.cfg.Now()}}
	err = r.story(ctx)
	return r.rep, store, err
}

// run is one run under way.
type run struct {
	Config
	store *state.Store
	site  Site
	mode  Mode
	lease state.Lease
	walk  sitemap.Report
	rep   Report
}

// story is the run from its beginning to its end.
func (r *run) story(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"restore", r.restore}, {"sitemap", r.sitemaps}, {"detect", r.detect}, {"process", r.process},
		{"publish", r.publish}, {"render", r.render}, {"prune", r.prune},
	} {
		r.At(step.name)
		if err := step.do(ctx); err != nil {
			return r.abort(ctx, fmt.Errorf("track: %s: %s: %w", r.site.Name, step.name, err))
		}
	}
	r.At("end")
	err := r.store.End(ctx, r.lease, r.Now(), r.outcome(), r.rep, nil)
	r.At("after")
	return err
}

func (r *run) begin(ctx context.Context) (err error) {
	r.lease, err = r.store.Begin(ctx, state.Start{
		Site: r.site.Name, SitemapURL: r.site.source(), Scope: r.site.scope(), Owner: newOwner(), TTL: r.Lease, Now: r.Now(),
	})
	return err
}

// abort ends a run that cannot go on. What it has done stays done.
func (r *run) abort(ctx context.Context, cause error) error {
	r.rep.Outcome = state.Failed
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // it may be ctx that ended the run
	defer cancel()
	err := r.store.End(ctx, r.lease, r.Now(), state.Failed, r.rep, cause)
	if err != nil && !errors.Is(err, state.ErrLeaseLost) && !errors.Is(cause, state.ErrCorrupt) {
		r.Log.WarnContext(ctx, "the end of the run was not recorded", "site", r.site.Name, "err", err)
	}
	return cause
}

// outcome says how the run went, now that it is over.
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

// restore takes the items of the last good feed over into a database that has no
// baseline: it is new, and the old one was lost (S-E12).
func (r *run) restore(ctx context.Context) error {
	if !r.lease.Site.Baseline.IsZero() {
		return nil
	}
	window, err := readWindow(r.folder())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		r.Log.WarnContext(ctx, "the last good feed cannot be taken over", "site", r.site.Name, "err", err)
		return nil
	}
	if len(window) == 0 {
		return nil // nothing was ever published
	}
	r.rep.Restored, r.rep.Rebuilt = len(window), true
	return r.store.Restore(ctx, r.lease, r.Now(), window)
}

// detect compares what the sitemaps list with what is known. If they list what they
// listed before there is nothing to compare.
func (r *run) detect(ctx context.Context) error {
	site, err := r.store.Site(ctx, r.site.Name)
	if err != nil {
		return err
	}
	if site.Dirty && r.rep.readable > 0 {
		rules := r.site.rules()
		rules.Now, rules.Whole = r.Now(), r.walk.Whole()
		if r.rep.Rebuilt || r.mode == Baseline {
			rules.Baseline = 0
		}
		if r.rep.Detected, err = r.store.Detect(ctx, r.lease, rules); err != nil {
			return err
		}
	}
	if r.mode == Baseline {
		r.rep.Settled, err = r.store.Settle(ctx, r.lease, r.Now())
	}
	return err
}

func (r *run) publish(ctx context.Context) (err error) {
	p, err := r.store.Publish(ctx, r.lease, r.Now())
	r.rep.Published, r.rep.Updated = p.New, p.Updated
	return err
}

// prune forgets, and every few days checks the whole database. A fault of that check
// is as bad as one that a query runs into.
func (r *run) prune(ctx context.Context) error {
	keep := r.site.keep()
	keep.Now = r.Now()
	p, err := r.store.Prune(ctx, r.lease, keep)
	if err != nil {
		return err
	}
	r.rep.Pruned = p.URLs
	if last := r.lease.Site.LastCleanup; r.site.CleanEvery > 0 && r.Now().Sub(last) < r.site.CleanEvery {
		return nil
	}
	return r.store.Clean(ctx, r.lease, r.Now())
}
