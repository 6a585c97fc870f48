package fetch

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"time"
)

// exchange is one request on the wire.
type exchange struct {
	url                *url.URL
	accept             string
	header             http.Header
	etag, lastModified string // to be sent back; empty: none
	max                int64
	cut                bool
	pack               bool          // the body is kept compressed
	delay              time.Duration // since the last start at this host
}

// answer is what came back: 200 or 203 with a body, 304, or a redirect. Every
// other status is an error.
type answer struct {
	url    *url.URL
	status int
	header http.Header
	body   []byte
	hash   string // of the body's content, in hexadecimal
	size   int64  // of the body's content
	wire   int64
	moved  bool // by permanent redirects alone
}

// errSlow is why a request's own context ends.
var errSlow = errors.New("fetch: request took too long")

// exchange makes one request, in its host's turn and within its time. The time
// begins with the turn: waiting for it is no fault of the host's.
func (c *Client) exchange(ctx context.Context, x *exchange) (answer, error) {
	host := hostOf(x.url)
	if err := c.alive(ctx, x.url, host); err != nil {
		return answer{}, err
	}
	leave, err := c.turn(ctx, x, host)
	if err != nil {
		return answer{}, err
	}
	defer leave()
	// It may have died while we stood in its queue.
	if err := c.alive(ctx, x.url, host); err != nil {
		return answer{}, err
	}
	timed, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errSlow)
	defer cancel()
	a, err := c.roundTrip(timed, x)
	c.count.wire.Add(a.wire)
	c.count.bytes.Add(a.size)
	if err != nil {
		err = c.failure(ctx, timed, x.url, host, err)
	}
	return a, err
}

// turn waits until the host may be asked.
func (c *Client) turn(ctx context.Context, x *exchange, host string) (leave func(), err error) {
	wait, cancel := context.WithTimeout(ctx, c.cfg.MaxWait)
	defer cancel()
	leave, err = c.hosts.enter(wait, host, x.delay)
	if err != nil && ctx.Err() == nil {
		err = &Error{URL: redacted(x.url), Kind: ErrBusy}
	}
	return leave, err
}

// roundTrip sends the request and reads the answer. Its errors are not yet fit to
// be seen.
func (c *Client) roundTrip(ctx context.Context, x *exchange) (answer, error) {
	req := (&http.Request{Method: http.MethodGet, URL: x.url, Host: x.url.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	maps.Copy(req.Header, x.header)
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	req.Header.Set("Accept", x.accept)
	req.Header.Set("Accept-Encoding", "gzip, deflate")
	if x.etag != "" {
		req.Header.Set("If-None-Match", x.etag)
	}
	if x.lastModified != "" {
		req.Header.Set("If-Modified-Since", x.lastModified)
	}
	c.count.requests.Add(1)
	resp, err := c.wire.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	// Closing a body that was not read to its end ends the connection with it: a
	// host that sends too much is not listened to any longer.
	defer func() { _ = resp.Body.Close() }() // what it could tell, reading has told
	a := answer{url: x.url, status: resp.StatusCode, header: resp.Header}
	switch is, _ := redirect(resp.StatusCode); {
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusNonAuthoritativeInfo:
		err = a.read(resp, x)
		return a, err
	case resp.StatusCode == http.StatusNotModified && x.etag == "" && x.lastModified == "":
		return a, errUnasked
	case resp.StatusCode == http.StatusNotModified, is:
		return a, nil
	}
	// Anything else brings no content. A 206 is nothing that was asked for.
	return a, &StatusError{
		URL: redacted(x.url), Code: resp.StatusCode,
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), c.cfg.Now()),
	}
}

// errUnasked is a 304 to a request that had no condition.
var errUnasked = errors.New("fetch: 304 without a condition")
