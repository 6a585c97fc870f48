package fetch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// Get returns what the URL holds. See the package comment for what it does, and
// the errors of this package for what can go wrong. It waits as long as ctx allows
// and no longer.
func (c *Client) Get(ctx context.Context, r Request) (Response, error) {
	c.count.gets.Add(1)
	resp, err := c.get(ctx, r)
	if err != nil {
		err = plain(ctx, err)
		c.count.failed(err)
		return Response{}, err
	}
	return resp, nil
}

func (c *Client) get(ctx context.Context, r Request) (Response, error) {
	q, err := c.question(r)
	if err != nil {
		return Response{}, err
	}
	if r.MaxAge > 0 {
		// Without a loader nobody is asked: not for this answer, and not behind our
		// back because it is stale. If somebody asks already, we join.
		res, err := c.answers.Fetch(ctx, q.key, nil)
		switch {
		case err == nil && res.Source == cache.Load:
			c.count.shared.Add(1)
			return c.asked(res, r, 0), nil
		case err == nil && res.Age <= r.MaxAge:
			return c.cached(res, r), nil
		case err != nil && !errors.Is(err, cache.ErrMiss):
			return Response{}, err
		}
	}
	return c.ask(ctx, q, r)
}

// ask asks the origin, or joins those who do.
//
// It does not use cache.MaxAge: an option that is about the time of the call makes
// everybody lead a load of their own. Entries are fresh for a millisecond only, so
// a plain read reaches the loader as well, and joins. What came within that
// millisecond is older than the question; then, and only then, it insists.
func (c *Client) ask(ctx context.Context, q *question, r Request) (Response, error) {
	var led atomic.Bool
	var wire atomic.Int64
	load := func(ctx context.Context, _ string) (stored, error) {
		led.Store(true)
		return c.load(ctx, q, &wire)
	}
	began := time.Now()
	res, err := c.answers.Fetch(ctx, q.key, load, cache.AllowStale(false))
	if err == nil && res.Source != cache.Load && res.Age >= time.Since(began) {
		res, err = c.answers.Fetch(ctx, q.key, load, cache.AllowStale(false), cache.MaxAge(0))
	}
	if err != nil {
		return Response{}, err
	}
	if !led.Load() {
		c.count.shared.Add(1)
	}
	return c.asked(res, r, wire.Load()), nil
}

// asked makes a response of what the origin has just said.
func (c *Client) asked(res cache.Result[stored], r Request, wire int64) Response {
	resp := c.response(res)
	resp.NotModified = res.Value.Head.Confirmed
	resp.Wire = wire
	return c.counted(resp, r)
}

// cached makes a response of what was there.
func (c *Client) cached(res cache.Result[stored], r Request) Response {
	c.count.fromCache.Add(1)
	resp := c.response(res)
	resp.FromCache = true
	resp.FreshFor = max(resp.FreshFor-res.Age, 0)
	return c.counted(resp, r)
}

// counted adds what the request says, the caller's own memory among it, and counts.
func (c *Client) counted(resp Response, r Request) Response {
	resp.Packed = r.Packed
	if r.Seen != "" {
		resp.NotModified = r.Seen == resp.Hash
	}
	if resp.NotModified {
		c.count.notModified.Add(1)
	}
	return resp
}

func (c *Client) response(res cache.Result[stored]) Response {
	h := res.Value.Head
	return Response{
		URL: h.URL, Status: h.Status, ContentType: h.ContentType, Body: res.Value.Body, Hash: h.Hash,
		ETag: h.ETag, LastModified: h.LastModified, MovedTo: h.MovedTo, FreshFor: h.FreshFor,
		FetchedAt: c.cfg.Now().Add(-res.Age),
	}
}
