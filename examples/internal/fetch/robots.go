package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/twofold-go/twofold/policy"
)

// Robots is what an origin's robots.txt says to this client. It does not change
// and may be used concurrently.
type Robots struct {
	// Sitemaps are the URLs of its Sitemap lines, in order, as they stand there:
	// for any client, and for any host.
	Sitemaps []string

	// CrawlDelay is the least time between two requests that it asks for, at most
	// a minute. 0: it does not say.
	CrawlDelay time.Duration

	group *robotstxt.Group // nil: nothing is allowed
}

// Allowed reports whether this client may get a URL of the origin. Only its path
// and query are looked at. It is false for what does not parse.
func (r *Robots) Allowed(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err == nil && r.allows(u)
}

func (r *Robots) allows(u *url.URL) bool {
	path := u.EscapedPath()
	if path == "/robots.txt" {
		return true // by RFC 9309, section 2.2.2
	}
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	return r.group != nil && r.group.Test(marked(normal(path, false)))
}

// Robots returns what the robots.txt of the URL's origin says. It is never nil.
// Where there is none (any 4xx, more than five redirects), everything is allowed.
// Where it cannot be reached, the last one stands for up to 30 days; without one
// nothing is allowed, and then the error says why.
func (c *Client) Robots(ctx context.Context, rawURL string) (*Robots, error) {
	u, err := c.parseURL(rawURL)
	if err != nil {
		return &Robots{}, err
	}
	return c.robotsOf(ctx, u)
}

// RFC 9309, sections 2.3.1.2 and 2.5: five redirects, 500 KiB.
const (
	maxRobotsRedirects = 5
	maxRobotsBytes     = 500 << 10
)

// robotsPolicy is RFC 9309, section 2.4: not older than 24 hours, unless it cannot
// be reached; then 30 days (section 2.3.1.4). The last three of the 24 hours are
// served while a new one is fetched. Jitter counts on top of TTL: 20 h · 1.05 + 3 h.
func robotsPolicy(retry, load time.Duration) policy.Patch {
	return policy.Patch{
		TTL: new(20 * time.Hour), Jitter: new(0.05), Stale: new(3 * time.Hour), StaleIfError: new(29 * 24 * time.Hour),
		ErrorTTL: new(max(retry, 2*policy.Resolution)), Throttle: new(retry), LoadTimeout: new(load), RemoteTimeout: new(time.Second),
	}
}

func (c *Client) robotsOf(ctx context.Context, u *url.URL) (*Robots, error) {
	s, err := c.robots.GetOrLoad(ctx, originOf(u), c.loadRobots)
	if err != nil {
		return &Robots{}, plain(ctx, err)
	}
	return readRobots(s.Body, c.cfg.UserAgent)
}

// loadRobots is the loader of a robots.txt. That there is none is an answer, and
// kept as long.
func (c *Client) loadRobots(ctx context.Context, origin string) (stored, error) {
	u, err := c.parseURL(origin + "/robots.txt")
	if err != nil {
		return stored{}, err
	}
	q := &question{url: u, accept: "text/plain,*/*;q=0.1", max: maxRobotsBytes, cut: true, redirects: maxRobotsRedirects}
	s, err := c.load(ctx, q, new(atomic.Int64))
	if status := new(StatusError); errors.As(err, &status) && status.Code < http.StatusInternalServerError {
		return stored{Head: head{Status: status.Code}}, nil
	}
	if errors.Is(err, ErrTooManyRedirects) || errors.Is(err, ErrRedirectLoop) {
		return stored{Head: head{Status: http.StatusNotFound}}, nil
	}
	return s, err
}

// obey returns an error if robots.txt forbids a URL, else the pause it asks for.
func (c *Client) obey(ctx context.Context, u *url.URL) (time.Duration, error) {
	r, err := c.robotsOf(ctx, u)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, &Error{URL: redacted(u), Kind: ErrRobots, Err: err, Detail: "it cannot be read"}
	case !r.allows(u):
		return 0, &Error{URL: redacted(u), Kind: ErrRobots}
	}
	return r.CrawlDelay, nil
}
