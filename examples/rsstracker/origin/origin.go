// Package origin gets sitemaps and pages through the cache.
package origin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
	"github.com/twofold-go/twofold/policy"
)

// Client gets URLs over HTTP: a [*fetch.Client], or a fake in tests.
type Client interface {
	Get(ctx context.Context, r fetch.Request) (fetch.Response, error)
	Robots(ctx context.Context, url string) (*fetch.Robots, error)
}

// How long the cache serves a page.
const (
	fresh = 5 * time.Minute // several sites may list the same page, and full mode gets it again each time
	dead  = 9 * time.Minute // of a missing page; less than the tracker's first wait for a retry
)

const (
	maxSitemap = 50 << 20 // the protocol's limit
	maxPage    = 15 << 20
)

// Source implements [track.Source].
type Source struct {
	client Client
	pages  cache.Cache[string, page.Meta]
}

var _ track.Source = (*Source)(nil)

// New returns a source that fetches with client and caches in tiers.
func New(client Client, tiers *cache.Tiers) (*Source, error) {
	pages, err := cache.New(tiers, cache.Config[string, page.Meta]{
		Namespace: "page:v2",
		Policy: policy.Patch{
			TTL: new(fresh), NegativeTTL: new(dead), Jitter: new(0.0), LoadTimeout: new(10 * time.Minute),
			RemoteTimeout: new(time.Second), // a busy disk is still faster than the site
		},
	})
	if err != nil {
		return nil, fmt.Errorf("origin: %w", err)
	}
	return &Source{client, pages}, nil
}

// Sitemap implements [track.Source]. The body is packed, because a sitemap may have 50 MB.
func (s *Source) Sitemap(ctx context.Context, url string) (fetch.Response, error) {
	return s.client.Get(ctx, fetch.Request{URL: url, MaxBytes: maxSitemap, Packed: true,
		Accept: "application/xml, text/xml, text/plain;q=0.8, */*;q=0.5"})
}

// Discover implements [track.Source].
func (s *Source) Discover(ctx context.Context, url string) ([]string, error) {
	r, err := s.client.Robots(ctx, url)
	if err != nil {
		return nil, err
	}
	return r.Sitemaps, nil
}

// deadError means that a page does not exist. The cache stores only [cache.ErrNotFound]. It is not
// joined with the status, because a failure joined with an absence counts as a failure.
type deadError struct{ status *fetch.StatusError }

func (e *deadError) Error() string { return e.status.Error() }
func (e *deadError) Unwrap() error { return cache.ErrNotFound }

// As lets errors.As find the status.
func (e *deadError) As(target any) bool {
	status, ok := target.(**fetch.StatusError)
	if ok {
		*status = e.status
	}
	return ok
}

// Page implements [track.Source]. Pages obey robots.txt.
func (s *Source) Page(ctx context.Context, r track.PageRequest) (track.Page, error) {
	var opts []cache.Option
	if age := maxAge(r, time.Now()); age < fresh {
		opts = []cache.Option{cache.MaxAge(age)}
	}
	var asked atomic.Bool // the loader runs in its own goroutine
	res, err := s.pages.Fetch(ctx, r.URL, func(ctx context.Context, url string) (page.Meta, error) {
		asked.Store(true)
		return s.load(ctx, url)
	}, opts...)
	p := track.Page{Meta: res.Value, Cached: !asked.Load()}
	if _, ok := errors.AsType[*fetch.StatusError](err); !ok && errors.Is(err, cache.ErrNotFound) {
		err = &fetch.StatusError{URL: fetch.Redact(r.URL), Code: http.StatusNotFound} // a stored absence
	}
	return p, err
}

// maxAge returns the greatest age that a cached page may have: it must not be older than
// the change. A date without a time is any moment of its day.
func maxAge(r track.PageRequest, now time.Time) time.Duration {
	switch changed := r.LastMod; {
	case r.Fresh:
		return 0
	case changed.IsZero():
		return math.MaxInt64
	case changed.Equal(changed.Truncate(24 * time.Hour)):
		return max(now.Sub(changed.Add(24*time.Hour)), 0)
	default:
		return max(now.Sub(changed), 0)
	}
}

func (s *Source) load(ctx context.Context, url string) (page.Meta, error) {
	resp, err := s.client.Get(ctx, fetch.Request{URL: url, Robots: true, MaxBytes: maxPage, Accept: "text/html, application/xhtml+xml, */*;q=0.5"})
	if e, ok := errors.AsType[*fetch.StatusError](err); ok && (e.Code == http.StatusNotFound || e.Code == http.StatusGone) {
		return page.Meta{}, &deadError{e}
	}
	if err != nil {
		return page.Meta{}, err
	}
	return page.Parse(resp.Body, resp.ContentType)
}
