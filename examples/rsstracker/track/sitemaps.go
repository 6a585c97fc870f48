package track

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

var usual = []string{"/sitemap.xml", "/sitemap_index.xml", "/sitemap.txt"}

func (r *run) sitemaps(ctx context.Context) error {
	roots, err := r.roots(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// A guess at the sitemaps might find only a part of the site.
		r.walk, err = sitemap.Report{Files: 1, Faults: []error{fmt.Errorf("%s: %w", fetch.Redact(r.site.Home), err)}}, nil
	} else {
		r.walk, err = sitemap.Walk(ctx, roots, r.visit)
		r.rep.Sitemaps, r.rep.LeftOut = r.walk.Files, r.walk.LeftOut
	}
	r.rep.Permanent = r.rep.readable == 0
	for _, f := range r.walk.Faults {
		text, remedy := f.Error(), classify(f).remedy
		if r.rep.Permanent = r.rep.Permanent && remedy != ""; r.rep.readable == 0 && remedy != "" {
			text += "; " + remedy
		}
		r.rep.Faults = append(r.rep.Faults, text)
	}
	return err
}

func (r *run) roots(ctx context.Context) ([]string, error) {
	if r.site.SitemapURL != "" {
		return []string{r.site.SitemapURL}, nil
	}
	home, err := url.Parse(r.site.Home)
	if err != nil {
		return nil, err
	}
	named, err := r.Source.Discover(ctx, r.site.Home)
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
		if _, err := r.Source.Sitemap(ctx, at); !missing(err) {
			return []string{at}, nil // found, or a fault
		}
	}
	return []string{home.JoinPath(usual[0]).String()}, nil
}

func missing(err error) bool {
	e, ok := errors.AsType[*fetch.StatusError](err)
	return ok && (e.Code == http.StatusNotFound || e.Code == http.StatusGone)
}

// visit reads one sitemap. It stores the readable part of a truncated one.
func (r *run) visit(ctx context.Context, ref sitemap.Ref, list func(string) bool) (v sitemap.Visited, err error) {
	file, err := r.store.Visit(ctx, r.lease, r.Now(), ref)
	if err != nil {
		return v, err
	}
	r.At("visit")
	r.rep.SitemapFetches++
	resp, err := r.Source.Sitemap(ctx, ref.URL)
	if err != nil || ctx.Err() != nil {
		v.Fault = err
		return v, ctx.Err()
	}
	r.At("fetched")
	if resp.NotModified {
		r.rep.NotModified++
	}
	base, bad := url.Parse(resp.URL)
	text, damaged := resp.Text()
	if v.Fault = errors.Join(bad, damaged); v.Fault != nil {
		return v, nil
	}
	broken, children := false, 0
	tracks := r.site.Tracks()
	err = r.store.List(ctx, r.lease, r.Now(), file, func(put func(sitemap.Entry) error) (bool, error) {
		sum, err := sitemap.Read(text, sitemap.Options{Base: base}, func(e sitemap.Entry) error {
			switch {
			case e.Child:
				children++
				list(e.Loc)
			case tracks(e.Loc):
				v.URLs++
				err := put(e)
				broken = err != nil
				return err
			}
			return nil
		})
		v.Fault = sum.Partial
		if err != nil && !broken { // a fault of the sitemap, not of the database
			v.Fault = err
			return false, nil
		}
		return v.Fault == nil, err
	})
	r.At("read")
	if err == nil && (v.Fault == nil || v.URLs+children > 0) {
		r.rep.readable++
	}
	return v, err
}
