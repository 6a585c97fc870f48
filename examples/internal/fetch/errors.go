package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// What callers branch on, with errors.Is. Every error of a [Client] is an [*Error]
// that holds one of these, a [*StatusError], or comes as it is from the caller's
// own context or from the cache (cache.ErrOverloaded, cache.ErrClosed).
var (
	// ErrURL means that a URL cannot be used: it does not parse, has no host, or
	// has user information in it.
	ErrURL = errors.New("the URL cannot be used")

	// ErrScheme means that a URL is neither http nor https.
	ErrScheme = errors.New("neither http nor https")

	// ErrPort means that a URL has a port that is not served: allowed are 80, 443
	// and everything from 1024 up.
	ErrPort = errors.New("port not allowed")

	// ErrHeader means that Request.Header holds a header which the client itself
	// sends.
	ErrHeader = errors.New("header not allowed")

	// ErrPrivateAddress means that the host's address is not a public one.
	ErrPrivateAddress = errors.New("not a public address")

	// ErrRobots means that robots.txt forbids the URL, or could not be read, which
	// forbids everything; then the reason is in the chain as well.
	ErrRobots = errors.New("forbidden by robots.txt")

	// ErrTooManyRedirects means that there were more than Config.MaxRedirects.
	ErrTooManyRedirects = errors.New("too many redirects")

	// ErrRedirectLoop means that a redirect led back to where the request had been.
	ErrRedirectLoop = errors.New("redirect loop")

	// ErrConnect means that no connection came about: the host does not resolve,
	// refuses, or cannot be reached.
	ErrConnect = errors.New("no connection")

	// ErrDeadHost means that no connection came about a moment ago, and that the
	// host was not asked again.
	ErrDeadHost = errors.New("host did not answer a moment ago")

	// ErrTimeout means that a request took longer than Config.Timeout.
	ErrTimeout = errors.New("timed out")

	// ErrBusy means that too many requests wait for the host.
	ErrBusy = errors.New("too many requests wait for this host")

	// ErrTooLarge means that a body is over its limit.
	ErrTooLarge = errors.New("answer too large")

	// ErrTruncated means that a body ended early.
	ErrTruncated = errors.New("answer ended early")

	// ErrEncoding means that a body's Content-Encoding is unknown, or not kept.
	ErrEncoding = errors.New("bad content encoding")

	// ErrProtocol means that what came is no HTTP answer to what was asked, that its
	// header is longer than 64 KiB, or that TLS failed.
	ErrProtocol = errors.New("no valid answer")
)

// Error is a request that brought no answer.
type Error struct {
	// URL is the request's, of a redirect if it failed there, without its query.
	// Empty: it does not parse, or is not known.
	URL string

	// Kind is one of this package's sentinels.
	Kind error

	// Err is the cause. It is in the chain; its text may hold what a stranger
	// sent and is not part of Error's. Nil: Kind says it all.
	Err error

	// Detail is a part of the text that is safe to show. Empty: none.
	Detail string
}

// Error returns "fetch: URL: kind: detail".
func (e *Error) Error() string {
	s := "fetch: "
	if e.URL != "" {
		s += e.URL + ": "
	}
	s += e.Kind.Error()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
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
	// URL is the one that answered, without its query.
	URL string

	// Code is the status: 404, 410, 429, 503, …
	Code int

	// RetryAfter is how long the origin asks to be left alone, never negative; not
	// capped. 0: it did not say.
	RetryAfter time.Duration
}

// Error returns "fetch: URL: 404 Not Found".
func (e *StatusError) Error() string {
	return fmt.Sprintf("fetch: %s: %d %s", e.URL, e.Code, http.StatusText(e.Code))
}
