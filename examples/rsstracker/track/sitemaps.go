package track

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// trust is for how long an index is believed that says a sitemap has not changed.
// Some generators never move that date.
const trust = 24 * time.Hour

// usual are the places of sitemaps that robots.txt does not name.
var usual = []string{"/sitemap.xml", "/sitemap_index.xml", "/sitemap.txt"}

// sitemaps reads what has changed of the site's sitemaps.
func (r *run) sitemaps(ctx context.Context) error {
	roots, err := roots(ctx, r.Source, r.site)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// Guessing where the sitemaps are would make a site of fewer pages.
		r.walk.Files, r.walk.Faults = 1, []sitemap.Fault{{URL: r.site.Home, Err: err}}
		r.rep.faults(r.walk)
		return nil
	}
	r.walk, err = sitemap.Walk(ctx, roots, r.site.Limits, r.visit)
	r.rep.faults(r.walk)
	r.rep.Sitemaps = r.walk.Files
	return err
}

// roots returns where a site's sitemaps begin.
func roots(ctx context.Context, src Source, s Site) ([]string, error) {
	if len(s.Sitemaps) > 0 {
		return s.Sitemaps, nil
	}
	home, err := url.Parse(s.Home)
	if err != nil {
		return nil, err
	}
	named, err := src.Discover(ctx, s.Home)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, n := range named {
		if u, err := sitemap.Normalise(n, home); err == nil {
			all = append(all, u)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	for _, path := range usual {
		at := home.JoinPath(path).String()
		_, err := src.Sitemap(ctx, at, "")
		if !missing(err) {
			return []string{at}, nil // found, or it cannot be told: then it is a fault
		}
	}
	return []string{home.JoinPath(usual[0]).String()}, nil
}

// missing reports whether an error says that there is nothing at a URL.
func missing(err error) bool {
	e, ok := errors.AsType[*fetch.StatusError](err)
	return ok && (e.Code == http.StatusNotFound || e.Code == http.StatusGone)
}

// visit reads one sitemap, unless it has not changed.
func (r *run) visit(ctx context.Context, ref sitemap.Ref) (sitemap.Visited, error) {
	f, err := r.store.Visit(ctx, r.lease, r.Now(), ref)
	if err != nil {
		return sitemap.Visited{}, err
	}
	r.At("visit")
	if r.unchanged(f, ref) {
		r.rep.SitemapsSkipped++
		return r.known(ctx, f)
	}
	r.rep.SitemapFetches++
	resp, err := r.Source.Sitemap(ctx, ref.URL, f.Hash)
	switch {
	case ctx.Err() != nil:
		return sitemap.Visited{}, ctx.Err()
	case err != nil:
		return sitemap.Visited{Fault: err}, nil // what it listed stays listed
	}
	r.rep.Bytes += resp.Wire
	r.At("fetched")
	if resp.NotModified && f.Hash != "" {
		r.rep.NotModified++
		if err := r.store.Confirm(ctx, r.lease, r.Now(), f.ID, ref.LastMod); err != nil {
			return sitemap.Visited{}, err
		}
		return r.known(ctx, f)
	}
	return r.read(ctx, f, ref, resp)
}

// unchanged reports whether the index says that a sitemap is what it was when it was
// read. A date without a time says so only the day after, and any date only when the
// sitemap was read well after it: what changed in between has the same date.
func (r *run) unchanged(f state.File, ref sitemap.Ref) bool {
	if f.Hash == "" || ref.LastMod.IsZero() || !ref.LastMod.Equal(f.LastMod) {
		return false
	}
	grain := time.Minute
	if ref.LastMod.Equal(ref.LastMod.Truncate(24 * time.Hour)) {
		grain = 24 * time.Hour
	}
	age := r.Now().Sub(f.ReadAt)
	return f.ReadAt.Sub(ref.LastMod) >= grain && age >= 0 && age < trust
}

// known returns what is known of a sitemap that has not changed.
func (r *run) known(ctx context.Context, f state.File) (v sitemap.Visited, err error) {
	r.rep.readable++
	v.URLs = f.Pages
	if f.Kind == sitemap.Index {
		v.Children, err = r.store.Children(ctx, f.ID)
	}
	return v, err
}

// read reads a sitemap that has changed. One that is cut off adds what is legible and
// takes nothing away.
func (r *run) read(ctx context.Context, f state.File, ref sitemap.Ref, resp fetch.Response) (v sitemap.Visited, err error) {
	base, err := url.Parse(resp.URL)
	if err != nil {
		return sitemap.Visited{Fault: err}, nil
	}
	body, err := resp.Open()
	if err != nil {
		return sitemap.Visited{Fault: err}, nil
	}
	var sum sitemap.Summary
	var bad error // of the sitemap, not of the database
	rd := state.Reading{File: f, LastMod: ref.LastMod, Hash: resp.Hash, Now: r.Now()}
	v.URLs, err = r.store.Read(ctx, r.lease, rd, func(put func(sitemap.Entry) error) (sitemap.Summary, error) {
		var failed error
		sum, err = sitemap.Read(body, sitemap.Options{Base: base}, func(e sitemap.Entry) error {
			if e.Child || r.site.tracks(e.Loc) {
				failed = put(e)
			}
			return failed
		})
		if failed == nil {
			bad = err
		}
		return sum, err
	})
	r.At("read")
	if bad != nil {
		return sitemap.Visited{Fault: bad}, nil
	}
	if err != nil {
		return v, err
	}
	f.Pages, f.Kind = v.URLs, sum.Kind
	v, err = r.known(ctx, f)
	v.Fault = sum.Partial
	return v, err
}
