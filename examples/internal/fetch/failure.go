package fetch

import (
	"context"
	"errors"
	"net"
	"net/url"
	"syscall"

	"github.com/twofold-go/twofold/cache"
)

// failure makes what went wrong with a request into an error that callers can
// branch on, and whose text holds nothing that the host sent: a malformed status
// line is quoted by net/http. ctx is the load's, timed the request's own.
func (c *Client) failure(ctx, timed context.Context, u *url.URL, host string, err error) error {
	var status *StatusError
	fail := func(kind error, detail string) error {
		return &Error{URL: redacted(u), Kind: kind, Err: err, Detail: detail}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &status):
		return err
	case errors.Is(err, ErrPrivateAddress):
		return fail(ErrPrivateAddress, "") // which one would tell of the inside
	case errors.Is(context.Cause(timed), errSlow):
		return fail(ErrTimeout, "")
	}
	for _, kind := range []error{ErrTooLarge, ErrTruncated, ErrEncoding} {
		if errors.Is(err, kind) {
			return fail(kind, "")
		}
	}
	if code := unreachable(err); code != "" {
		c.bury(ctx, host, code)
		c.cfg.Logger.Debug("fetch: a host does not answer", "host", host, "reason", code)
		return fail(ErrConnect, code)
	}
	return fail(ErrProtocol, "")
}

// unreachable says why no connection came about, in words of ours; empty: one did.
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

// plain takes an error out of the cache's own, which would say the key, and tells
// the end of a load's time from the end of the caller's.
func plain(ctx context.Context, err error) error {
	if ce, ok := errors.AsType[*cache.Error](err); ok {
		err = ce.Err
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		if _, ok := errors.AsType[*Error](err); !ok {
			return &Error{Kind: ErrTimeout, Err: err}
		}
	}
	return err
}
