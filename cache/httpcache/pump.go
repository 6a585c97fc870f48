package httpcache

import (
	"context"
	"errors"
	"io"
)

// pump reads the body of a server's response into its flow, to the end, in its own goroutine. So neither
// the caller whose request was sent nor the cache waits for the other. It has two holders: the caller and
// the load. When both have released it, the request ends.
type pump struct {
	flow
	body   io.ReadCloser // Base's
	length int64         // Content-Length; -1: unknown
	cancel context.CancelFunc
	done   chan struct{} // closed when ended

	// mu protects the fields below.
	ended   bool
	err     error  // why it ended; nil: it is not stored, and the caller reads on
	why     reason // it is not stored
	panic   any    // of the body's Read
	holders int
	left    chan struct{} // closed when the caller leaves a load that has timed out; nil: it has not
}

func newPump(k *core, body io.ReadCloser, length int64, cancel context.CancelFunc) *pump {
	f := &pump{body: body, length: length, cancel: cancel, done: make(chan struct{}), holders: 2}
	f.begin(k)
	return f
}

// release ends one hold. After the second one the request ends.
func (f *pump) release() {
	f.mu.Lock()
	f.holders--
	last := f.holders == 0
	if f.left != nil && !last {
		close(f.left)
	}
	if last {
		f.drop()
	}
	f.mu.Unlock()
	if last {
		f.cancel()
		_ = f.body.Close() // no caller is left to get the error
	}
}

// outlast waits for the end of the body after the load has timed out, as long as the caller reads it.
// It reports false if the caller has left before.
func (f *pump) outlast() bool {
	f.mu.Lock()
	if f.holders == 2 {
		f.left = make(chan struct{})
	}
	left := f.left
	f.mu.Unlock()
	if left != nil {
		select {
		case <-f.done:
		case <-left:
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

func (f *pump) run() {
	defer func() {
		if p := recover(); p != nil { // an unrecovered panic would end the program
			f.end(errBodyPanicked, byLength, p)
		}
	}()
	for {
		free, ok := f.space()
		if !ok {
			f.end(nil, byRoom, nil)
			return
		}
		n, err := f.body.Read(free)
		_ = free[:n] // it panics here, and not under the lock, if the body miscounts
		f.mu.Lock()
		if f.holders > 0 {
			f.buf = f.buf[:len(f.buf)+n]
		}
		size := len(f.buf)
		f.grown.Broadcast()
		f.mu.Unlock()
		switch {
		case size > f.max:
			f.end(err, bySize, nil)
		case err == nil:
			continue
		case err != io.EOF || f.length >= 0 && f.length != int64(size):
			f.end(err, byLength, nil)
		default:
			f.end(err, none, nil)
		}
		return
	}
}

// space returns a place for the next bytes. It reports false if there is no room, or if nobody reads.
func (f *pump) space() (free []byte, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holders == 0 {
		return nil, false
	}
	size := len(f.buf)
	if size == cap(f.buf) && !f.grow(larger(size, int(f.length), f.max)+1-size, f.length) { // Read reports the end only if there is room left
		return nil, false
	}
	return f.buf[size:cap(f.buf)], true
}

var errBodyPanicked = errors.New("httpcache: reading the body panicked")

func (f *pump) end(err error, why reason, panicked any) {
	f.mu.Lock()
	f.ended, f.err, f.why, f.panic = true, err, why, panicked
	f.grown.Broadcast()
	f.mu.Unlock()
	close(f.done)
}

// whole returns the body after the pump has ended, or the reason why it cannot be stored.
func (f *pump) whole() ([]byte, reason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why != none {
		return nil, f.why
	}
	return snug(f.buf), none
}

// pumpBody is the body that the caller reads from a pump.
type pumpBody struct {
	f      *pump
	ctx    context.Context // the caller's
	stored <-chan struct{} // closed when the response is stored or refused
	leave  func()          // ends the caller's part in the flight
	unwait func() bool
	off    int

	// closed is protected by f.mu.
	closed bool
}

func newPumpBody(ctx context.Context, f *pump, stored <-chan struct{}, leave func()) *pumpBody {
	b := &pumpBody{f: f, ctx: ctx, stored: stored, leave: leave}
	b.unwait = context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.grown.Broadcast()
		if f.ended && f.err == nil || f.left != nil { // the caller reads, and nobody else
			f.cancel()
		}
	})
	return b
}

var errBodyClosed = errors.New("httpcache: read of a closed body")

// Read returns what has arrived, and waits if there is nothing. It reports the end of the body
// after the response is stored. So a caller that has read the body finds the response in the
// cache.
func (b *pumpBody) Read(p []byte) (int, error) {
	f := b.f
	f.mu.Lock()
	for b.off == len(f.buf) && !f.ended && !b.closed && b.ctx.Err() == nil {
		f.grown.Wait()
	}
	if b.closed {
		f.mu.Unlock()
		return 0, errBodyClosed
	}
	n := copy(p, f.buf[b.off:])
	b.off += n
	if f.ended && f.err == nil && b.off == len(f.buf) { // from here on the caller reads from the origin
		f.drop()
		b.off = 0
	}
	ended, err, panicked := f.ended, f.err, f.panic
	f.mu.Unlock()
	switch {
	case n > 0 || len(p) == 0:
		return n, nil
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case panicked != nil:
		panic(panicked)
	case ended && err == nil: // it is not stored
		n, err := f.body.Read(p)
		if err != nil && err != io.EOF && b.ctx.Err() != nil { //nolint:errorlint // readers return it as it is
			err = b.ctx.Err()
		}
		return n, err
	case err == io.EOF: //nolint:errorlint // readers return it as it is
		select {
		case <-b.stored:
		case <-b.ctx.Done():
		}
	}
	return 0, err
}

// Close ends the caller's part. The body is still read for waiting callers.
func (b *pumpBody) Close() error {
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
