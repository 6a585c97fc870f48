package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// RFC 9309, sections 2.3.1.2 and 2.5: five redirects, 500 KiB.
const (
	maxRobotsRedirects = 5
	maxRobotsBytes     = 500 << 10
)

// rulesLife is how long a robots.txt is cached (RFC 9309, 2.4): 24 hours, or 30 days if it
// cannot be reached.
const (
	rulesLife   = "max-age=75600, stale-while-revalidate=10800, stale-if-error=2516400"
	faultHeader = "Fetch-Fault"
)

// rulesAnswer turns an answer into what the cache keeps of a robots.txt. After a failure
// the cache serves an older one.
func rulesAnswer(resp *http.Response, err error, retry time.Duration) (*http.Response, error) {
	status, isStatus := errors.AsType[*StatusError](err)
	failed, isFailed := errors.AsType[*Error](err)
	switch {
	case err == nil:
		resp.Header.Set("Cache-Control", rulesLife)
		return resp, nil
	case isStatus && status.Code < http.StatusInternalServerError:
		return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{"Cache-Control": {rulesLife}}, Body: http.NoBody}, nil
	case isStatus:
		return fault(strconv.Itoa(status.Code), retry), nil
	case isFailed:
		return fault(failed.Kind.Error(), retry), nil
	}
	return nil, err
}

func fault(why string, retry time.Duration) *http.Response {
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Header: http.Header{
		"Cache-Control": {fmt.Sprintf("max-age=%d", max(int(retry/time.Second), 1))}, faultHeader: {why},
	}}
}

func faultOf(u *url.URL, why string) error {
	for _, kind := range kinds {
		if kind.Error() == why {
			return &Error{URL: redacted(u), Kind: kind}
		}
	}
	status := &StatusError{URL: redacted(u), Code: http.StatusServiceUnavailable}
	if code, err := strconv.Atoi(why); err == nil {
		status.Code = code
	}
	return status
}

// Robots returns the rules of a robots.txt, never nil. If the host has none, they allow
// every URL. If it could not be reached for 30 days, they allow none.
func (c *Client) Robots(ctx context.Context, rawURL string) (*Robots, error) {
	u, err := c.parseURL(rawURL)
	if err != nil {
		return &Robots{}, err
	}
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	a := &ask{rules: true, max: maxRobotsBytes, redirects: maxRobotsRedirects}
	req := a.request(ctx, at)
	req.Header.Set("Accept", "text/plain,*/*;q=0.1")
	got, err := c.do(req, c.rules)
	if age, limited := stored(ctx); err == nil && got.StatusCode == http.StatusServiceUnavailable && limited && says(got.Response, ";hit") {
		req.Header.Set("Cache-Control", fmt.Sprintf("max-age=%d", int(age/time.Second)))
		got, err = c.do(req, c.rules)
	}
	switch {
	case errors.Is(err, ErrTooManyRedirects), errors.Is(err, ErrRedirectLoop):
		return readRobots(nil, ""), nil
	case err != nil:
		return &Robots{}, err
	case got.StatusCode == http.StatusServiceUnavailable:
		return &Robots{}, faultOf(at, got.Header.Get(faultHeader))
	}
	text, _ := Response{Body: got.body}.Open() // damaged gzip has no rules
	rules, _ := io.ReadAll(io.LimitReader(cmp.Or(text, io.Reader(http.NoBody)), maxRobotsBytes))
	return readRobots(rules, token(c.cfg.UserAgent)), nil
}

// obedient runs before the cache of answers, because robots.txt must apply to redirects and to
// cached answers too.
type obedient struct{ *Client }

func (c obedient) RoundTrip(r *http.Request) (*http.Response, error) {
	if a := askOf(r); a.obey {
		robots, err := c.Robots(r.Context(), r.URL.String())
		switch {
		case r.Context().Err() != nil:
			return nil, r.Context().Err()
		case errors.Is(err, ErrPrivateAddress):
			return nil, &Error{URL: redacted(r.URL), Kind: ErrPrivateAddress, Err: err} // the address is the fault, not robots.txt
		case err != nil:
			return nil, &Error{URL: redacted(r.URL), Kind: ErrRobots, Err: err, Detail: "it cannot be read"}
		case !robots.Allowed(r.URL.String()):
			return nil, &Error{URL: redacted(r.URL), Kind: ErrRobots}
		}
		slow := *a
		slow.delay = cmp.Or(robots.CrawlDelay, a.delay)
		r = r.WithContext(slow.with(r.Context()))
	}
	resp, err := c.answers.RoundTrip(r)
	if err == nil && askOf(r).poll && says(resp, ";hit") {
		// The answer was stored within this millisecond, but before this request.
		_ = resp.Body.Close() // from memory
		r = r.Clone(r.Context())
		r.Header.Set("Cache-Control", "no-cache")
		return c.answers.RoundTrip(r)
	}
	return resp, err
}
