package httpcache

import (
	"net/http"
	"sync"
)

// tail is the writer of a client that gets what is recorded as it comes. It sends in a
// goroutine of its own: the recording, and all who wait for it, do not wait for a client
// that reads slowly. What it has yet to send are parts of the recording, so it takes no
// memory of its own.
type tail struct {
	http.ResponseWriter // header and status, before the first part

	// mu protects the rest.
	mu      sync.Mutex
	idle    sync.Cond
	parts   [][]byte
	flush   bool
	sending bool // a goroutine uses the writer
	fell    any  // what the writer panicked with; it gets nothing more
}

func newTail(w http.ResponseWriter) *tail {
	t := &tail{ResponseWriter: w}
	t.idle.L = &t.mu
	return t
}

// Write sends b, which must not change any more.
func (t *tail) Write(b []byte) (int, error) {
	t.add(b, false)
	return len(b), nil
}

// FlushError sends what was written so far, at least the header.
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

// run sends until there is nothing left.
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

// send writes some parts. A client that has left gets none of them: it is not the only one.
func (t *tail) send(parts [][]byte, flush bool) {
	defer func() {
		if p := recover(); p != nil { // or it would end the program
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

// settle waits until all is sent. It returns the client's writer, and what that panicked
// with.
func (t *tail) settle() (w http.ResponseWriter, fell any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.sending {
		t.idle.Wait()
	}
	return t.ResponseWriter, t.fell
}
