package httpcache

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// caller is the writer of a Transport's caller. The caller gets the response of Base, with a body that
// it reads as it comes.
type caller struct {
	x    *trip
	resp *http.Response // nil: the caller has it
	from *http.Response // the source's, which sets its trailers when the body ends
	body *io.PipeWriter
}

// Begin takes the response of a run, and returns m with whether it is stored. The caller gets a copy,
// because it may look at the trailers while the source reads on.
func (c *caller) Begin(n *exchange.Run, m page.Miss) page.Miss {
	own := *n.Resp
	own.Trailer = maps.Clone(own.Trailer)
	c.resp, c.from, n.Resp = &own, n.Resp, nil
	m.Asked = false // the caller sees the status
	if m.Detail == reason.None && !cache.Filling(n.Ctx).Stores() {
		m.Detail = reason.Load
	}
	m.Stored = m.Detail == reason.None
	c.x.Core.Stats.Of(exchange.FormatOf(n.Msg.Header)).Misses.Add(1)
	return m
}

// Header returns the header of the response, until the caller has it.
func (c *caller) Header() http.Header {
	if c.resp == nil {
		return http.Header{}
	}
	return c.resp.Header
}

// WriteHeader hands the response over.
func (c *caller) WriteHeader(int) {
	resp := c.resp
	b := &callersBody{x: c.x, resp: resp, from: c.from}
	c.resp, resp.Body = nil, b
	b.PipeReader, c.body = io.Pipe()
	b.stay = context.AfterFunc(c.x.Ctx, func() { _ = c.body.CloseWithError(c.x.Ctx.Err()) })
	c.x.handed <- resp
}

// Write waits until the caller has read b.
func (c *caller) Write(b []byte) (int, error) { return c.body.Write(b) }

// End ends the body.
func (c *caller) End(err error, panicked any) {
	if p, ok := panicked.(*cache.PanicError); ok {
		panicked = p.Value
	}
	if panicked != nil {
		err = &bodyPanic{panicked}
	}
	_ = c.body.CloseWithError(err)
}

// bodyPanic is a panic of the source, on its way to the caller's goroutine.
type bodyPanic struct{ value any }

func (*bodyPanic) Error() string { return "httpcache: reading the body panicked" }

// callersBody is the body that the caller reads.
type callersBody struct {
	*io.PipeReader
	x    *trip
	resp *http.Response // the caller's
	from *http.Response // the source's
	stay func() bool    // the end of the caller's context does not end the body any more
}

// Read returns what has arrived, and waits if there is nothing. It reports the end of the body
// after the response is stored. So a caller that has read the body finds the response in the
// cache.
func (b *callersBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.PipeReader.Read(p)
	if fell, ok := errors.AsType[*bodyPanic](err); ok {
		panic(fell.value)
	}
	switch {
	case errors.Is(err, io.ErrClosedPipe):
		err = errBodyClosed
	case errors.Is(err, io.EOF):
		b.trail() // the source has ended
		select {
		case <-b.x.left:
		case <-b.x.Client.Ctx.Done(): // or the caller's context has ended
		}
		b.x.leave()
	}
	return n, err
}

// trail fills the map that the caller has, if there is one: copies of the response share it.
func (b *callersBody) trail() {
	if b.resp.Trailer == nil {
		b.resp.Trailer = b.from.Trailer
		return
	}
	maps.Copy(b.resp.Trailer, b.from.Trailer)
}

// Close ends the caller's part. The body is still read for waiting callers.
func (b *callersBody) Close() error {
	b.stay()
	b.x.leave()
	return b.PipeReader.CloseWithError(errBodyClosed)
}
