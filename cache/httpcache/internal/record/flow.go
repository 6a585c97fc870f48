package record

import (
	"net/http"
	"sync"
	"sync/atomic"
)

// Flow is the body of a response in transit, as far as it has arrived. A recorder writes it. The cache
// stores it when it is whole. The client whose request it answers follows it as it comes.
type Flow struct {
	max  int // a longer body is not stored
	room *Room

	// Mu protects the fields below, and those of the recorder and of the follower. Bytes in buf do not change.
	Mu    sync.Mutex
	Grown sync.Cond
	Buf   []byte
	held  int // bytes of room
}

// Room is how many bytes the flows of a Cache or Transport hold.
type Room struct {
	held  atomic.Int64
	limit int64
}

// MaxHeld is how many bytes all flows together hold at most.
func MaxHeld(maxBody int) int64 { return max(8*int64(maxBody), 64<<20) }

// Allow sets how many bytes there may be.
func (r *Room) Allow(limit int64) { r.limit = limit }

// Bytes returns how many bytes there are.
func (r *Room) Bytes() int64 { return r.held.Load() }

func (r *Room) take(n int) bool {
	if r.held.Add(int64(n)) > r.limit {
		r.give(n)
		return false
	}
	return true
}

func (r *Room) give(n int) { r.held.Add(-int64(n)) }

// Begin makes the flow ready for a body of at most limit bytes. All is the room of all flows.
func (f *Flow) Begin(limit int, all *Room) {
	f.max, f.room = limit, all
	f.Grown.L = &f.Mu
}

// grow makes room for n more bytes of a body of some length; a length of zero or less is not known. It
// follows what has arrived, because a length may be announced and never come. It reports false if all
// flows together are too long. The caller holds Mu.
func (f *Flow) grow(n int, length int64) bool {
	size := len(f.Buf) + n
	if size <= cap(f.Buf) {
		return true
	}
	if length > 0 || len(f.Buf) > 0 {
		size = max(size, larger(len(f.Buf), int(length), f.max))
	}
	if !f.room.take(size - f.held) {
		return false
	}
	f.held, f.Buf = size, append(make([]byte, 0, size), f.Buf...)
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

// Drop gives the room back and forgets the buffer. The caller holds Mu.
func (f *Flow) Drop() {
	f.leave()
	f.Buf = nil
}

// leave gives the room back.
func (f *Flow) leave() {
	f.room.give(f.held)
	f.held = 0
}

// end says that no more comes. A handler's client that still follows reads on as it would read a stored page:
// without room. Then slow clients do not keep others from being recorded. The caller holds Mu.
func (f *Flow) end(followed, handler bool) {
	switch {
	case !followed:
		f.Drop()
	case handler:
		f.leave()
	}
}

// tail sends a flow to the client that gets it as it comes. It sends in its own goroutine, so the flow and
// its waiting clients do not wait for a slow reader. The Mu of the flow protects it.
type tail struct {
	f       *Flow
	w       http.ResponseWriter
	sent    int  // bytes of the flow
	flush   bool // what is sent
	sending bool // a goroutine uses w
	fell    any  // what w panicked with; it gets no more writes
}

// more says that there is more of the flow.
func (t *tail) more(flush bool) {
	t.flush = t.flush || flush
	if !t.sending {
		t.sending = true
		go t.run()
	}
}

func (t *tail) run() {
	f := t.f
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for t.sent < len(f.Buf) || t.flush {
		b, flush := f.Buf[t.sent:], t.flush
		t.sent, t.flush = len(f.Buf), false
		if t.fell != nil {
			continue
		}
		f.Mu.Unlock()
		fell := t.send(b, flush)
		f.Mu.Lock()
		t.fell = fell
	}
	t.sending = false
	f.Grown.Broadcast()
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

// settle waits until the client has everything, or has left. It returns the value that its writer panicked
// with.
func (t *tail) settle() (fell any) {
	for t.sending {
		t.f.Grown.Wait()
	}
	return t.fell
}

// Settle waits until the tail has everything. It returns the value that the writer panicked with.
func (r *Recorder) Settle() (fell any) {
	if r.Tail == nil {
		return nil
	}
	return r.Tail.settle()
}
