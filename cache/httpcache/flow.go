package httpcache

import (
	"net/http"
	"sync"
	"sync/atomic"
)

// flow is the body of a response in transit, as far as it has arrived. A recorder writes it. The cache
// stores it when it is whole. The client whose request it answers follows it as it comes.
type flow struct {
	max  int // a longer body is not stored
	room *room

	// mu protects the fields below, and those of the recorder and of the follower. Bytes in buf do not change.
	mu    sync.Mutex
	grown sync.Cond
	buf   []byte
	held  int // bytes of room
}

// room is how many bytes the flows of a Cache or Transport hold.
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

func (f *flow) begin(k *core) {
	f.max, f.room = k.maxBody, &k.room
	f.grown.L = &f.mu
}

// grow makes room for n more bytes of a body of some length; a length of zero or less is not known. It
// follows what has arrived, because a length may be announced and never come. It reports false if all
// flows together are too long. The caller holds mu.
func (f *flow) grow(n int, length int64) bool {
	size := len(f.buf) + n
	if size <= cap(f.buf) {
		return true
	}
	if length > 0 || len(f.buf) > 0 {
		size = max(size, larger(len(f.buf), int(length), f.max))
	}
	if !f.room.take(size - f.held) {
		return false
	}
	f.held, f.buf = size, append(make([]byte, 0, size), f.buf...)
	return true
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

// drop gives the room back and forgets the buffer. The caller holds mu.
func (f *flow) drop() {
	f.room.give(f.held)
	f.held, f.buf = 0, nil
}

// follower is what a client gets a flow by as it comes. The callers of its methods hold mu.
type follower interface {
	// more says that there is more of the flow.
	more(flush bool)

	// settle waits until the client has everything, or has left. It returns the value that its
	// writer panicked with.
	settle() (fell any)
}

// tail sends a flow to the client that gets it as it comes. It sends in its own goroutine, so the flow and
// its waiting clients do not wait for a slow reader. The mu of the flow protects it.
type tail struct {
	f       *flow
	w       http.ResponseWriter
	sent    int  // bytes of the flow
	flush   bool // what is sent
	sending bool // a goroutine uses w
	fell    any  // what w panicked with; it gets no more writes
}

func (t *tail) more(flush bool) {
	t.flush = t.flush || flush
	if !t.sending {
		t.sending = true
		go t.run()
	}
}

func (t *tail) run() {
	f := t.f
	f.mu.Lock()
	defer f.mu.Unlock()
	for t.sent < len(f.buf) || t.flush {
		b, flush := f.buf[t.sent:], t.flush
		t.sent, t.flush = len(f.buf), false
		if t.fell != nil {
			continue
		}
		f.mu.Unlock()
		fell := t.send(b, flush)
		f.mu.Lock()
		t.fell = fell
	}
	t.sending = false
	f.grown.Broadcast()
}

// send ignores errors: other clients need the flow even if this one has left. It returns the value that
// the writer panicked with, because an unrecovered panic would end the program.
func (t *tail) send(b []byte, flush bool) (fell any) {
	defer func() { fell = recover() }()
	if len(b) > 0 {
		_, _ = t.w.Write(b)
	}
	if flush {
		_ = http.NewResponseController(t.w).Flush()
	}
	return nil
}

func (t *tail) settle() (fell any) {
	for t.sending {
		t.f.grown.Wait()
	}
	return t.fell
}
