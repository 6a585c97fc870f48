// Package origin gets sitemaps and pages through the library: bodies with their
// validators in the fetch client's cache, what pages say of themselves in one of its
// own.
package origin

import (
	"cmp"
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

// Client is what gets things over HTTP: a [*fetch.Client], or a stand-in in tests.
type Client interface {
	Get(ctx context.Context, r fetch.Request) (fetch.Response, error)
	Robots(ctx context.Context, url string) (*fetch.Robots, error)
}

// Options say how long what is known of a page is taken from the cache.
type Options struct {
	// Fresh is for pages: other sites list the same ones, and full mode gets them
	// again and again. 0: 5 minutes.
	Fresh time.Duration

	// Dead is for pages that are not there. It should be less than the tracker
	// waits until it tries again, so that each of its attempts is one. 0: 9 minutes.
	Dead time.Duration
}

// maxSitemap is the longest sitemap, before and after decompression: the protocol's
// 50 MiB.
const maxSitemap = 50 << 20

// Source implements [track.Source].
type Source struct {
	client Client
	pages  cache.Cache[question, page.Meta]
	fresh  time.Duration
}

var _ track.Source = (*Source)(nil)

// question is what a page is cached by: with another selector the same page has
// another content.
type question struct {
	URL, Selector string
}

// New returns a source that fetches by client and caches in tiers.
func New(client Client, tiers *cache.Tiers, opt Options) (*Source, error) {
	fresh, dead := cmp.Or(opt.Fresh, 5*time.Minute), cmp.Or(opt.Dead, 9*time.Minute)
	s := &Source{client: client, fresh: fresh}
	var err error
	s.pages, err = cache.New(tiers, cache.Config[question, page.Meta]{
		Namespace: "page:v1",
		Load:      s.load,
		Policy:    policy.Patch{TTL: &fresh, NegativeTTL: &dead, Jitter: new(0.0), LoadTimeout: new(10 * time.Minute)},
	})
	if err != nil {
		return nil, fmt.Errorf("origin: %w", err)
	}
	return s, nil
}

// Sitemap implements [track.Source]. robots.txt is not asked: it is what names the
// sitemaps, and a person who names one has decided. The body is packed: the longest
// sitemap is 50 MB, and what is kept of it for the next 304 a fraction of that.
func (s *Source) Sitemap(ctx context.Context, url, seen string) (fetch.Response, error) {
	return s.client.Get(ctx, fetch.Request{URL: url, Seen: seen, MaxBytes: maxSitemap, Packed: true, Accept: "application/xml, text/xml, text/plain;q=0.8, */*;q=0.5"})
}

// Discover implements [track.Source].
func (s *Source) Discover(ctx context.Context, url string) ([]string, error) {
	r, err := s.client.Robots(ctx, url)
	if err != nil {
		return nil, err
	}
	return r.Sitemaps, nil
}

// trip is what one page costs. The loader that pays it may be another caller's.
type trip struct {
	wire atomic.Int64
	made atomic.Bool
}

type tripKey struct{}

// deadError is the error for a page that is not there. The cache remembers of it that
// it is [cache.ErrNotFound], and nothing else.
type deadError struct{ status *fetch.StatusError }

func (e *deadError) Error() string   { return e.status.Error() }
func (e *deadError) Unwrap() []error { return []error{e.status, cache.ErrNotFound} }

// Page implements [track.Source]. Pages obey robots.txt. A page that answered 404 or
// 410 a moment ago is not asked for again.
func (s *Source) Page(ctx context.Context, r track.PageRequest) (track.Page, error) {
	var t trip
	ctx = context.WithValue(ctx, tripKey{}, &t)
	var opts []cache.Option
	if age := maxAge(r, time.Now()); age < s.fresh {
		opts = []cache.Option{cache.MaxAge(age)}
	}
	res, err := s.pages.Fetch(ctx, question{r.URL, r.Selector}, nil, opts...)
	p := track.Page{Meta: res.Value, Wire: t.wire.Load(), Cached: !t.made.Load()}
	if _, ok := errors.AsType[*fetch.StatusError](err); !ok && errors.Is(err, cache.ErrNotFound) {
		err = &fetch.StatusError{URL: r.URL, Code: http.StatusNotFound} // remembered
	}
	return p, err
}

// maxAge returns how old what is cached of a page may be: a page that another site
// lists, too, may have been cached before the change that this one is about. A date
// without a time may be any moment of its day.
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

// load gets a page over the network. The body is not kept here: the client has it,
// for its validators.
func (s *Source) load(ctx context.Context, q question) (page.Meta, error) {
	resp, err := s.client.Get(ctx, fetch.Request{URL: q.URL, Robots: true, Accept: "text/html, application/xhtml+xml, */*;q=0.5"})
	if t, ok := ctx.Value(tripKey{}).(*trip); ok {
		t.made.Store(true)
		t.wire.Add(resp.Wire)
	}
	if e, ok := errors.AsType[*fetch.StatusError](err); ok && (e.Code == http.StatusNotFound || e.Code == http.StatusGone) {
		return page.Meta{}, &deadError{e}
	}
	if err != nil {
		return page.Meta{}, err
	}
	return page.Parse(resp.Body, resp.ContentType, q.Selector)
}
