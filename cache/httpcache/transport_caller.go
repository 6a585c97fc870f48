package httpcache

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/twofold-go/twofold/cache"
)

// caller is the writer of a Transport's caller. The caller gets the response of Base, with a body that
// it reads as it comes.
type caller struct {
	x    *trip
	resp *http.Response // nil: the caller has it
	body *callersBody
}

// begin takes the response of a run, and says in m that it is stored.
func (c *caller) begin(n *run, m *miss) {
	c.resp, n.resp = n.resp, nil
	m.asked = false // the caller sees the status
	if m.detail == none && !cache.Filling(n.ctx).Stores() {
		m.detail = byLoad
	}
	m.stored = m.detail == none
	c.x.t.stats.of(formatOf(n.msg.h)).misses.Add(1)
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
	resp, x := c.resp, c.x
	c.resp = nil
	in, out := io.Pipe()
	c.body = &callersBody{x: x, in: in, out: out}
	c.body.unwait = context.AfterFunc(x.ctx, func() { _ = out.CloseWithError(x.ctx.Err()) })
	resp.Body = c.body
	x.handed <- resp
}

// Write waits until the caller has read b.
func (c *caller) Write(b []byte) (int, error) { return c.body.out.Write(b) }

// end ends the body.
func (c *caller) end(err error, panicked any) {
	if p, ok := panicked.(*cache.PanicError); ok {
		panicked = p.Value
	}
	if c.body.panicked = panicked; panicked != nil {
		err = errBodyPanicked
	}
	_ = c.body.out.CloseWithError(err)
}

var (
	errBodyPanicked = errors.New("httpcache: reading the body panicked")
	errBodyClosed   = errors.New("httpcache: read of a closed body")
)

// callersBody is the body that the caller reads.
type callersBody struct {
	x        *trip
	in       *io.PipeReader
	out      *io.PipeWriter
	unwait   func() bool
	panicked any // before out is closed
}

// Read returns what has arrived, and waits if there is nothing. It reports the end of the body
// after the response is stored. So a caller that has read the body finds the response in the
// cache.
func (b *callersBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.in.Read(p)
	switch {
	case err == nil:
	case err == errBodyPanicked: //nolint:errorlint // as it is
		panic(b.panicked)
	case err == io.ErrClosedPipe: //nolint:errorlint // as it is
		err = errBodyClosed
	case err == io.EOF: //nolint:errorlint // as it is
		select {
		case <-b.x.stored:
		case <-b.x.ctx.Done():
		}
		b.x.leave()
	case b.x.ctx.Err() != nil:
		err = b.x.ctx.Err()
	}
	return n, err
}

// Close ends the caller's part. The body is still read for waiting callers.
func (b *callersBody) Close() error {
	b.unwait()
	b.x.leave()
	return b.in.Close()
}
