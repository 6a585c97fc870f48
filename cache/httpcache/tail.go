package httpcache

import (
	"net/http"
	"sync"
)

// tail is the writer of a client that gets the response while it is recorded. It sends in its own
// goroutine, so the recording and its waiting clients do not wait for a slow reader. The unsent
// parts are parts of the recording, so tail needs no memory for them.
type tail struct {
	http.ResponseWriter // header and status, before the first part

	// mu protects the rest.
	mu      sync.Mutex
	idle    sync.Cond
	parts   [][]byte
	flush   bool
	sending bool // a goroutine uses the writer
	fell    any  // what the writer panicked with; it gets no more writes
}

func newTail(w http.ResponseWriter) *tail {
	t := &tail{ResponseWriter: w}
	t.idle.L = &t.mu
	return t
}

// Write sends b later; the caller must not change b.
func (t *tail) Write(b []byte) (int, error) {
	t.add(b, false)
	return len(b), nil
}

// FlushError sends the header and what was written so far.
func (t *tail) FlushError() error {
	t.add(nil, true)
	return nil
}

func (t *tail) add(b []byte, flush bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush = t.flush || flush
	if len(b) > 0 {
		t.parts = append(t.parts, b)
	}
	if !t.sending {
		t.sending = true
		go t.run()
	}
}

// run sends until nothing is left.
func (t *tail) run() {
	for {
		t.mu.Lock()
		parts, flush := t.parts, t.flush
		t.parts, t.flush = nil, false
		if len(parts) == 0 && !flush {
			t.sending = false
			t.idle.Broadcast()
			t.mu.Unlock()
			return
		}
		fell := t.fell != nil
		t.mu.Unlock()
		if !fell {
			t.send(parts, flush)
		}
	}
}

// send writes some parts. It ignores errors: other clients need the recording even if this one
// has left.
func (t *tail) send(parts [][]byte, flush bool) {
	defer func() {
		if p := recover(); p != nil { // an unrecovered panic would end the program
			t.mu.Lock()
			t.fell = p
			t.mu.Unlock()
		}
	}()
	for _, b := range parts {
		_, _ = t.ResponseWriter.Write(b)
	}
	if flush {
		_ = http.NewResponseController(t.ResponseWriter).Flush()
	}
}

// settle waits until everything is sent. It returns the client's writer and the value that the
// writer panicked with.
func (t *tail) settle() (w http.ResponseWriter, fell any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.sending {
		t.idle.Wait()
	}
	return t.ResponseWriter, t.fell
}
