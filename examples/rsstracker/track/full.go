package track

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// ErrNothing means that full mode found no page to make a feed of. The last feed
// stays.
var ErrNothing = errors.New("track: the sitemaps list no page")

// Full makes a feed as it was made before there was a state: all sitemaps are read,
// the newest pages are fetched, and the feed is written. It neither reads nor changes
// the database, nor the window that the incremental mode goes on from. Its items are
// the newest pages by the dates of the sitemap, whatever was in the feed before.
func (t *Tracker) Full(ctx context.Context, s Site) (Report, error) {
	f := full{Config: t.cfg, site: s, rep: Report{Site: s.Name, Started: t.cfg.Now(), Outcome: state.OK}}
	err := f.story(ctx)
	if err != nil {
		f.rep.Outcome = state.Failed
		err = fmt.Errorf("track: %s: %w", s.Name, err)
	}
	return f.rep, err
}

// full is one run of full mode.
type full struct {
	Config
	site   Site
	rep    Report
	newest newest
}

func (f *full) story(ctx context.Context) error {
	roots, err := roots(ctx, f.Source, f.site)
	if err != nil {
		return err
	}
	f.newest = newest{limit: f.site.Items(), now: f.Now()}
	w, err := sitemap.Walk(ctx, roots, f.site.Limits, f.visit)
	f.rep.faults(w)
	f.rep.Sitemaps = w.Files
	if err != nil {
		return err
	}
	entries := f.newest.cut()
	if len(entries) == 0 {
		return ErrNothing
	}
	if !w.Whole() {
		f.rep.Outcome = state.Partial
	}
	items, err := f.items(ctx, entries)
	if err != nil {
		return err
	}
	return f.write(ctx, items)
}

func (f *full) visit(ctx context.Context, ref sitemap.Ref) (v sitemap.Visited, err error) {
	f.rep.SitemapFetches++
	resp, err := f.Source.Sitemap(ctx, ref.URL, "")
	if ctx.Err() != nil {
		return v, ctx.Err()
	}
	if err != nil {
		return sitemap.Visited{Fault: err}, nil
	}
	f.rep.Bytes += resp.Wire
	base, err := url.Parse(resp.URL)
	if err != nil {
		return sitemap.Visited{Fault: err}, nil
	}
	body, err := resp.Open()
	if err != nil {
		return sitemap.Visited{Fault: err}, nil
	}
	sum, err := sitemap.Read(body, sitemap.Options{Base: base}, func(e sitemap.Entry) error {
		switch {
		case e.Child:
			v.Children = append(v.Children, e)
		case f.site.tracks(e.Loc):
			v.URLs++
			f.newest.add(e)
		}
		return nil
	})
	v.Fault = errors.Join(err, sum.Partial)
	f.rep.Listed += v.URLs
	return v, nil
}

// items fetches pages. One that is dead, or forbidden, is left out; one that fails
// otherwise is published by what the sitemap says of it.
func (f *full) items(ctx context.Context, entries []sitemap.Entry) ([]feed.Item, error) {
	r := run{Config: f.Config, site: f.site, rep: f.rep}
	var all []feed.Item
	for _, e := range entries {
		u := state.URL{URL: e.Loc, Title: e.Title, LastMod: e.LastMod, Published: e.Published}
		m, err := r.meta(ctx, u)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.rep.Failed++
			m = page.Meta{}
		}
		if missing(err) || errors.Is(err, fetch.ErrRobots) {
			continue
		}
		p := r.describe(u, m)
		all = append(all, feed.Item{GUID: e.Loc, URL: e.Loc, Title: p.Title, Description: p.Description, Date: p.Date})
	}
	f.rep = r.rep
	f.rep.Published = len(all)
	return all, nil
}

// write writes the feeds, as render does.
func (f *full) write(ctx context.Context, items []feed.Item) error {
	folder := Folder(f.Dir, f.site.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, format := range feed.Formats {
		body, err := feed.Encode(format, f.site.Channel, items)
		if err != nil {
			return err
		}
		changed, err := replace(filepath.Join(folder, format.File()), body)
		if err != nil {
			return err
		}
		if changed {
			f.rep.FeedsWritten++
		}
	}
	if f.Rendered != nil {
		f.Rendered(ctx, f.site.Name)
	}
	return nil
}

// newest keeps the newest of many entries. They are sorted before they are cut, and
// dates are compared in UTC, the future as now and none as the oldest (S-E9).
type newest struct {
	limit int
	now   time.Time
	all   []sitemap.Entry
}

func (n *newest) add(e sitemap.Entry) {
	if n.all = append(n.all, e); len(n.all) > 4*n.limit+100 {
		n.cut()
	}
}

// cut drops what is not among the newest, or is there twice, and returns the rest.
func (n *newest) cut() []sitemap.Entry {
	date := func(e sitemap.Entry) time.Time {
		d := e.Published
		if d.IsZero() {
			d = e.LastMod
		}
		return sitemap.Clamp(d, n.now)
	}
	slices.SortStableFunc(n.all, func(a, b sitemap.Entry) int { return date(b).Compare(date(a)) })
	seen := map[string]bool{}
	n.all = slices.DeleteFunc(n.all, func(e sitemap.Entry) bool {
		key := sitemap.Identity(e.Loc)
		twice := seen[key]
		seen[key] = true
		return twice
	})
	n.all = n.all[:min(len(n.all), n.limit)]
	return n.all
}
