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

// Every error of a [Client] is an [*Error] of one of these kinds, a [*StatusError], or the
// error of the context.
var (
	ErrURL              = errors.New("the URL cannot be used")               // it does not parse, has no host, or has user information
	ErrScheme           = errors.New("neither http nor https")               // the scheme of a URL
	ErrPort             = errors.New("port not allowed")                     // allowed are 80, 443 and every port from 1024
	ErrPrivateAddress   = errors.New("not a public address")                 // the host's name resolves to such an address
	ErrRobots           = errors.New("forbidden by robots.txt")              // or robots.txt could not be read; then the chain says why
	ErrTooManyRedirects = errors.New("too many redirects")                   // more than three
	ErrRedirectLoop     = errors.New("redirect loop")                        // a redirect led back to an earlier URL
	ErrConnect          = errors.New("no connection")                        // the host does not resolve, refuses, or cannot be reached
	ErrDeadHost         = errors.New("host did not answer a moment ago")     // the client sent no request
	ErrTimeout          = errors.New("timed out")                            // a request took longer than Config.Timeout
	ErrBusy             = errors.New("too many requests wait for this host") // for more than five minutes
	ErrTooLarge         = errors.New("answer too large")                     // the body is over the limit
	ErrTruncated        = errors.New("answer ended early")                   // the body is incomplete
	ErrEncoding         = errors.New("bad content encoding")                 // the encoding is unknown, or the body does not follow it
	ErrProtocol         = errors.New("no valid answer")                      // not HTTP, a header over 64 KiB, or TLS failed
)

var kinds = []error{
	ErrURL, ErrScheme, ErrPort, ErrPrivateAddress, ErrConnect, ErrDeadHost, ErrTimeout, ErrBusy, ErrTooLarge, ErrTruncated, ErrEncoding, ErrProtocol,
}

// Error is a request that got no answer.
type Error struct {
	URL    string // of the request, or of the redirect where it failed, without the query. Empty means unknown
	Kind   error  // one of this package's sentinels
	Err    error  // the cause, or nil. The text omits it, because it may hold data of a stranger
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

// StatusError is an answer whose status brings no content.
type StatusError struct {
	URL        string        // without the query
	Code       int           // 404, 410, 429, 503, …
	RetryAfter time.Duration // how long the origin wants no requests. Zero means that it does not say
}

// Error returns "fetch: URL: 404 Not Found".
func (e *StatusError) Error() string {
	return fmt.Sprintf("fetch: %s: %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// Dead hosts are errors that a cache remembers. A read without a loader looks a host up; a
// load that fails stores it.

// deadHost is the error that the cache stores. The other processes and later runs read its code.
type deadHost string

func (d deadHost) Error() string     { return string(d) }
func (d deadHost) CacheCode() string { return string(d) }

type anewKey struct{}

// Anew returns a context for a new attempt. Its requests ignore failures to connect, and to read a
// robots.txt, that were stored before now: the host may answer again. They obey those stored later.
func Anew(ctx context.Context) context.Context {
	return context.WithValue(ctx, anewKey{}, time.Now())
}

// stored returns for how long failures count in ctx, and whether that is limited.
func stored(ctx context.Context) (age time.Duration, limited bool) {
	began, limited := ctx.Value(anewKey{}).(time.Time)
	return max(time.Since(began), 0) + time.Millisecond, limited // the cache counts in milliseconds
}

// alive returns an error if the host is stored as dead.
func (c *Client) alive(ctx context.Context, u *url.URL, host string) error {
	var opts []cache.Option
	if age, limited := stored(ctx); limited {
		opts = append(opts, cache.MaxAge(age))
	}
	_, err := c.dead.Fetch(ctx, host, nil, opts...)
	if remembered, ok := errors.AsType[*cache.RememberedError](err); ok {
		return &Error{URL: redacted(u), Kind: ErrDeadHost, Err: err, Detail: remembered.Code}
	}
	return ctx.Err() // the host is not dead, or the cache does not answer
}

// bury stores that a host does not answer, in place of an earlier failure.
func (c *Client) bury(ctx context.Context, host, reason string) {
	_, _ = c.dead.GetOrLoad(ctx, host, func(context.Context, string) (struct{}, error) { return struct{}{}, deadHost(reason) }, cache.MaxAge(0))
}

// failure returns an error that callers can branch on. ctx is the context of the load,
// timed the one of this request.
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
			return fail(kind, "") // the address would reveal the inner network
		}
	}
	if code := unreachable(err); code != "" {
		c.bury(ctx, host, code)
		c.cfg.Logger.Debug("fetch: a host does not answer", "host", host, "reason", code)
		return fail(ErrConnect, code)
	}
	return fail(ErrProtocol, "")
}

// unreachable says why there was no connection. It returns "" if there was one.
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
