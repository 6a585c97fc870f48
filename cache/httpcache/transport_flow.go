package httpcache

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// flow is the body of a response in transit, for the caller whose request was sent and for the
// cache. It is read to its end in its own goroutine, so that neither waits for the other. It has
// two holders: the caller and the load. When both have released it, the request ends.
type flow struct {
	body   io.ReadCloser // Base's
	max    int           // a longer body is not stored
	room   *room
	length int64 // Content-Length; -1: unknown
	cancel context.CancelFunc
	done   chan struct{} // closed when ended

	// mu protects the fields below. Bytes in buf do not change.
	mu      sync.Mutex
	grown   sync.Cond
	buf     []byte
	ended   bool
	err     error  // why it ended; nil: it is not stored, and the caller reads on
	why     reason // it is not stored
	panic   any    // of the body's Read
	holders int
	left    chan struct{} // closed when the caller leaves a load that has timed out; nil: it has not
}

// room is how many bytes the flows of a Transport hold.
type room struct {
	held  atomic.Int64
	limit int64
}

// maxHeld is how many bytes all flows together hold at most.
func maxHeld(maxBody int) int64 { return max(8*int64(maxBody), 64<<20) }

func (r *room) take(n int) bool {
	if r.held.Add(int64(n)) > r.limit {
		r.give(n)
		return false
	}
	return true
}

func (r *room) give(n int) { r.held.Add(-int64(n)) }

func newFlow(body io.ReadCloser, length int64, limit int, room *room, cancel context.CancelFunc) *flow {
	f := &flow{body: body, max: limit, length: length, room: room, cancel: cancel, done: make(chan struct{}), holders: 2}
	f.grown.L = &f.mu
	return f
}

// release ends one hold. After the second one the request ends.
func (f *flow) release() {
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
func (f *flow) outlast() bool {
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

// drop forgets the buffer. The caller holds mu.
func (f *flow) drop() {
	f.room.give(cap(f.buf))
	f.buf = nil
}

func (f *flow) run() {
	defer func() {
		if p := recover(); p != nil { // an unrecovered panic would end the program
			f.end(errBodyPanicked, byLength, p)
		}
	}()
	for {
		free, ok := f.grow()
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

// grow returns a place for the next bytes. It follows what has arrived, because a length may be
// announced and never come. It reports false if the flows of the Transport hold too
// much, or if nobody reads.
func (f *flow) grow() (free []byte, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holders == 0 { // nobody reads
		return nil, false
	}
	if size := len(f.buf); size == cap(f.buf) {
		room := larger(size, int(f.length), f.max) + 1 // Read reports the end only if there is room left
		if !f.room.take(room - size) {
			return nil, false
		}
		f.buf = append(make([]byte, 0, room), f.buf...)
	}
	return f.buf[len(f.buf):cap(f.buf)], true
}

// larger returns the next length of a buffer for a body, of which size bytes have arrived. A negative
// length is not known. What was announced counts only for the first 64 KiB.
func larger(size, length, limit int) int {
	next := max(4<<10, 2*size)
	if length >= 0 {
		next = min(max(64<<10, next), max(length, size))
	}
	return min(next, limit)
}

var errBodyPanicked = errors.New("httpcache: reading the body panicked")

func (f *flow) end(err error, why reason, panicked any) {
	f.mu.Lock()
	f.ended, f.err, f.why, f.panic = true, err, why, panicked
	f.grown.Broadcast()
	f.mu.Unlock()
	close(f.done)
}

// whole returns the body after the flow has ended, or the reason why it cannot be stored.
func (f *flow) whole() ([]byte, reason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why != none {
		return nil, f.why
	}
	return snug(f.buf), none
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
func (b *flowBody) Read(p []byte) (int, error) {
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
