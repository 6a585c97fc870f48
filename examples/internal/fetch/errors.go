package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// Every error of a [Client] is an [*Error] of one of these kinds, a [*StatusError], or that of the context.
var (
	ErrURL              = errors.New("the URL cannot be used")               // it does not parse, has no host, or has user information in it
	ErrScheme           = errors.New("neither http nor https")               // the scheme of a URL
	ErrPort             = errors.New("port not allowed")                     // allowed are 80, 443 and all from 1024 up
	ErrHeader           = errors.New("header not allowed")                   // Request.Header holds a header that the client sends itself
	ErrPrivateAddress   = errors.New("not a public address")                 // the one that the host's name resolves to
	ErrRobots           = errors.New("forbidden by robots.txt")              // or it could not be read; then the chain says why
	ErrTooManyRedirects = errors.New("too many redirects")                   // more than three
	ErrRedirectLoop     = errors.New("redirect loop")                        // a redirect led back to where the request had been
	ErrConnect          = errors.New("no connection")                        // the host does not resolve, refuses, or cannot be reached
	ErrDeadHost         = errors.New("host did not answer a moment ago")     // and was not asked again
	ErrTimeout          = errors.New("timed out")                            // a request took longer than Config.Timeout
	ErrBusy             = errors.New("too many requests wait for this host") // for longer than five minutes
	ErrTooLarge         = errors.New("answer too large")                     // its body is over the limit
	ErrTruncated        = errors.New("answer ended early")                   // its body did
	ErrEncoding         = errors.New("bad content encoding")                 // it is unknown, or not kept
	ErrProtocol         = errors.New("no valid answer")                      // no HTTP, a header over 64 KiB, or TLS failed
)

var kinds = []error{
	ErrURL, ErrScheme, ErrPort, ErrPrivateAddress, ErrConnect, ErrDeadHost, ErrTimeout, ErrBusy, ErrTooLarge, ErrTruncated, ErrEncoding, ErrProtocol,
}

// Error is a request that brought no answer.
type Error struct {
	URL    string // the request's, or that of the redirect where it failed, without query. Empty: unknown
	Kind   error  // one of this package's sentinels
	Err    error  // the cause. It may hold what a stranger sent, and is not in the text. Nil: none
	Detail string // a part of the text that is safe to show
}

// Error returns "fetch: URL: kind: detail".
func (e *Error) Error() string {
	parts := []string{"fetch", e.URL, e.Kind.Error(), e.Detail}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// StatusError is an answer with a status that brings no content.
type StatusError struct {
	URL        string        // without query
	Code       int           // 404, 410, 429, 503, …
	RetryAfter time.Duration // how long the origin asks to be left alone. 0: it does not say
}

// Error returns "fetch: URL: 404 Not Found".
func (e *StatusError) Error() string {
	return fmt.Sprintf("fetch: %s: %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// The memory of dead hosts is a cache of remembered errors. A read without a loader asks; a load that fails remembers.

// deadHost is the error that is remembered. Its code outlives the process.
type deadHost string

func (d deadHost) Error() string     { return string(d) }
func (d deadHost) CacheCode() string { return string(d) }

// alive returns an error if the host is remembered as dead.
func (c *Client) alive(ctx context.Context, u *url.URL, host string) error {
	_, err := c.dead.Fetch(ctx, host, nil)
	if remembered, ok := errors.AsType[*cache.RememberedError](err); ok {
		return &Error{URL: redacted(u), Kind: ErrDeadHost, Err: err, Detail: remembered.Code}
	}
	return ctx.Err() // nothing is known, or the cache does not answer
}

// bury remembers that a host does not answer.
func (c *Client) bury(ctx context.Context, host, reason string) {
	_, _ = c.dead.GetOrLoad(ctx, host, func(context.Context, string) (struct{}, error) { return struct{}{}, deadHost(reason) })
}

// failure makes an error that callers can branch on. ctx is the load's, timed the request's own.
func (c *Client) failure(ctx, timed context.Context, u *url.URL, host string, err error) error {
	fail := func(kind error, detail string) error {
		return &Error{URL: redacted(u), Kind: kind, Err: err, Detail: detail}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*StatusError](err); ok {
		return err
	}
	if errors.Is(context.Cause(timed), errSlow) {
		return fail(ErrTimeout, "")
	}
	for _, kind := range []error{ErrPrivateAddress, ErrTooLarge, ErrTruncated, ErrEncoding} {
		if errors.Is(err, kind) {
			return fail(kind, "") // the address would tell of the inside
		}
	}
	if code := unreachable(err); code != "" {
		c.bury(ctx, host, code)
		c.cfg.Logger.Debug("fetch: a host does not answer", "host", host, "reason", code)
		return fail(ErrConnect, code)
	}
	return fail(ErrProtocol, "")
}

// unreachable says why no connection came about; empty: one did.
func unreachable(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "no such host"
		}
		return "name server failed"
	}
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "dial" {
		return ""
	}
	if op.Timeout() {
		return "dial timed out"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return "dial failed"
}
