package fetch

import (
	"context"
	"errors"
	"net/url"

	"github.com/twofold-go/twofold/cache"
)

// The memory of dead hosts is a cache that holds remembered errors and nothing
// else. A read without a loader asks whether there is one; a load that fails puts
// it there. So a host that takes ten seconds to refuse is asked once, not once per
// feed and process.

// deadHost is the error that is remembered. Its code is all that other processes
// learn.
type deadHost string

func (d deadHost) Error() string { return string(d) }

// CacheCode makes the reason outlive the process.
func (d deadHost) CacheCode() string { return string(d) }

// alive returns an error if the host is remembered as dead.
func (c *Client) alive(ctx context.Context, u *url.URL, host string) error {
	_, err := c.dead.Fetch(ctx, host, nil)
	remembered, ok := errors.AsType[*cache.RememberedError](err)
	if !ok {
		return ctx.Err() // nothing is known, or the cache does not answer
	}
	c.count.dead.Add(1)
	return &Error{URL: redacted(u), Kind: ErrDeadHost, Err: err, Detail: remembered.Code}
}

// bury remembers that a host does not answer.
func (c *Client) bury(ctx context.Context, host, reason string) {
	// The error is the point.
	_, _ = c.dead.GetOrLoad(ctx, host, func(context.Context, string) (struct{}, error) {
		return struct{}{}, deadHost(reason)
	})
}
