package httpcache

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
)

// flow is the body of a response in transit, for the caller whose request was sent and for the
// cache. It is read to its end in its own goroutine, so that neither waits for the other. It has
// two holders: the caller and the load. When both have released it, the request ends.
type flow struct {
	body   io.ReadCloser // Base's
	max    int           // a longer body is not stored
	length int64         // Content-Length; -1: unknown
	cancel context.CancelFunc
	done   chan struct{} // closed when ended

	// mu protects the fields below. Bytes in buf do not change.
	mu      sync.Mutex
	grown   sync.Cond
	buf     []byte
	ended   bool
	err     error // why it ended; io.EOF: whole; nil: too long, and the caller reads on
	panic   any   // of the body's Read
	holders int
}

func newFlow(body io.ReadCloser, length int64, limit int, cancel context.CancelFunc) *flow {
	f := &flow{body: body, max: limit, length: length, cancel: cancel, done: make(chan struct{}), holders: 2}
	f.grown.L = &f.mu
	return f
}

// release gives up one hold. After the second one the request ends.
func (f *flow) release() {
	f.mu.Lock()
	f.holders--
	last := f.holders == 0
	f.mu.Unlock()
	if last {
		f.cancel()
		_ = f.body.Close() // no caller is left to get the error
	}
}

func (f *flow) run() {
	defer func() {
		if p := recover(); p != nil { // an unrecovered panic would end the program
			f.panic = p
			f.end(errBodyPanicked)
		}
	}()
	first := 4 << 10
	if f.length >= 0 {
		first = int(f.length) + 1 // Read reports the end only if there is room left
	}
	buf := make([]byte, 0, first)
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		n, err := f.body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		f.mu.Lock()
		f.buf = buf
		f.grown.Broadcast()
		f.mu.Unlock()
		if err != nil || len(buf) > f.max {
			f.end(err)
			return
		}
	}
}

var errBodyPanicked = errors.New("httpcache: reading the body panicked")

func (f *flow) end(err error) {
	f.mu.Lock()
	f.ended, f.err = true, err
	f.grown.Broadcast()
	f.mu.Unlock()
	close(f.done)
}

// whole returns the body after the flow has ended, or the reason why it cannot be stored.
func (f *flow) whole() ([]byte, reason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(f.buf) > f.max:
		return nil, bySize
	case f.err != io.EOF || f.length >= 0 && f.length != int64(len(f.buf)): //nolint:errorlint // readers return it as it is
		return nil, byLength
	case cap(f.buf)-len(f.buf) > len(f.buf)/8+1:
		return slices.Clone(f.buf), none
	}
	return f.buf, none
}

// flowBody is the body that the caller reads from a flow.
type flowBody struct {
	f      *flow
	ctx    context.Context // the caller's
	stored <-chan struct{} // closed when the response is stored or refused
	leave  func()          // ends the caller's part in the flight
	unwait func() bool
	off    int

	// closed is protected by f.mu.
	closed bool
}

func newFlowBody(ctx context.Context, f *flow, stored <-chan struct{}, leave func()) *flowBody {
	b := &flowBody{f: f, ctx: ctx, stored: stored, leave: leave}
	b.unwait = context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.grown.Broadcast()
	})
	return b
}

var errBodyClosed = errors.New("httpcache: read of a closed body")

// Read returns what has arrived, and waits if there is nothing. It reports the end of the body
// after the response is stored. So a caller that has read the body finds the response in the
// cache.
func (b *flowBody) Read(p []byte) (int, error) {
	f := b.f
	f.mu.Lock()
	for b.off == len(f.buf) && !f.ended && !b.closed && b.ctx.Err() == nil {
		f.grown.Wait()
	}
	n := copy(p, f.buf[b.off:])
	b.off += n
	ended, err, closed, panicked := f.ended, f.err, b.closed, f.panic
	f.mu.Unlock()
	switch {
	case closed:
		return 0, errBodyClosed
	case n > 0 || len(p) == 0:
		return n, nil
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case panicked != nil:
		panic(panicked)
	case ended && err == nil: // too long to store
		return f.body.Read(p)
	case err == io.EOF: //nolint:errorlint // readers return it as it is
		select {
		case <-b.stored:
		case <-b.ctx.Done():
		}
	}
	return 0, err
}

// Close ends the caller's part. The body is still read for waiting callers.
func (b *flowBody) Close() error {
	b.f.mu.Lock()
	was := b.closed
	b.closed = true
	b.f.grown.Broadcast()
	b.f.mu.Unlock()
	if !was {
		b.unwait()
		b.leave()
		b.f.release()
	}
	return nil
}
