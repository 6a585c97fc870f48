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
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
)

// caller is the writer of a Transport's caller. The caller gets the response of Base, with a body that
// it reads as it comes: from the flow while the response is recorded, and from the source's writes when
// it is not.
type caller struct {
	x      *trip
	resp   *http.Response // nil: the caller has it
	own    *http.Response // the caller's
	from   *http.Response // the source's, which sets its trailers when the body ends
	f      *record.Flow
	unwait func() bool

	// The Mu of the flow protects the fields below.
	off      int    // what the caller has read of the flow
	chunk    []byte // of a write that waits until the caller has read it
	ended    bool
	closed   bool
	err      error // why it ended
	panicked any   // of the source
}

// Begin takes the response of a run, and returns m with whether it is stored. The caller gets a copy,
// because it may look at the trailers while the source reads on.
func (c *caller) Begin(n *exchange.Run, m page.Miss) page.Miss {
	own := *n.Resp
	own.Trailer = maps.Clone(own.Trailer)
	c.resp, c.own, c.from, n.Resp, c.f = &own, &own, n.Resp, nil, &n.Rec.Flow
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
	c.resp = nil
	c.unwait = context.AfterFunc(c.x.Ctx, func() {
		c.f.Mu.Lock()
		defer c.f.Mu.Unlock()
		c.f.Grown.Broadcast()
	})
	resp.Body = &callersBody{c}
	c.x.handed <- resp
}

// Write waits until the caller has read b. The recorder holds Mu.
func (c *caller) Write(b []byte) (int, error) {
	c.chunk = b
	c.f.Grown.Broadcast()
	for len(c.chunk) > 0 && c.reads() {
		c.f.Grown.Wait()
	}
	n := len(b) - len(c.chunk)
	if c.chunk = nil; n < len(b) {
		return n, errBodyClosed
	}
	return n, nil
}

// reads reports whether the caller may still read.
func (c *caller) reads() bool { return !c.closed && c.x.Ctx.Err() == nil }

func (c *caller) More(bool) { c.f.Grown.Broadcast() }

func (c *caller) Settle() (fell any) {
	for c.off < len(c.f.Buf) && c.reads() {
		c.f.Grown.Wait()
	}
	return nil
}

// End ends the body.
func (c *caller) End(err error, panicked any) {
	if p, ok := panicked.(*cache.PanicError); ok {
		panicked = p.Value
	}
	if err == nil {
		err = io.EOF
	}
	c.f.Mu.Lock()
	defer c.f.Mu.Unlock()
	c.ended, c.err, c.panicked = true, err, panicked
	c.f.Grown.Broadcast()
}

var errBodyPanicked = errors.New("httpcache: reading the body panicked")

// callersBody is the body that the caller reads.
type callersBody struct{ c *caller }

// Read returns what has arrived, and waits if there is nothing. It reports the end of the body
// after the response is stored. So a caller that has read the body finds the response in the
// cache.
func (b *callersBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c := b.c
	n, err := c.read(p)
	switch {
	case errors.Is(err, errBodyPanicked):
		panic(c.panicked)
	case errors.Is(err, io.EOF):
		c.own.Trailer = c.from.Trailer // the source has ended
		select {
		case <-c.x.stored:
		case <-c.x.Ctx.Done():
		}
		c.x.leave()
	}
	return n, err
}

func (c *caller) read(p []byte) (n int, err error) {
	c.f.Mu.Lock()
	defer c.f.Mu.Unlock()
	for c.off >= len(c.f.Buf) && len(c.chunk) == 0 && !c.ended && c.reads() {
		c.f.Grown.Wait()
	}
	switch {
	case c.closed:
		return 0, errBodyClosed
	case c.off < len(c.f.Buf):
		n = copy(p, c.f.Buf[c.off:])
		c.off += n
	case len(c.chunk) > 0:
		n = copy(p, c.chunk)
		c.chunk = c.chunk[n:]
	case c.x.Ctx.Err() != nil:
		return 0, c.x.Ctx.Err()
	case c.panicked != nil:
		return 0, errBodyPanicked
	default:
		return 0, c.err
	}
	c.f.Grown.Broadcast() // perhaps the source waits
	return n, nil
}

// Close ends the caller's part. The body is still read for waiting callers.
func (b *callersBody) Close() error {
	c := b.c
	c.f.Mu.Lock()
	c.closed = true
	c.f.Grown.Broadcast()
	c.f.Mu.Unlock()
	c.unwait()
	c.x.leave()
	return nil
}
