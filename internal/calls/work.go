package calls

import (
	"context"
	"sync"
	"sync/atomic"
)

// Work is the set of the background work. Close waits for it and, when its context ends, cancels
// it. The zero Work is ready to use.
type Work struct {
	closed atomic.Bool   // written with mu held
	mu     sync.Mutex    // protects the rest
	over   bool          // present and future work is cancelled
	idle   chan struct{} // made by Close if work still runs
	first  *Task
}

// Canceler is a piece of work that can be cancelled. Cancel must not call the [Work]. It is an interface
// rather than a function, because a method value allocates.
type Canceler interface{ Cancel() }

// Task is the place of one piece of work in a [Work]. It is embedded in that piece, so a remote
// call allocates nothing for it.
type Task struct {
	prev, next *Task
	who        Canceler
}

// Begin adds a piece of work, unless the set is closed. The work must call End.
func (w *Work) Begin(t *Task, who Canceler) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return false
	}
	w.add(t, who)
	return true
}

// GoOn adds work that belongs to work begun earlier, even if the set is closed. The work must call
// End.
func (w *Work) GoOn(t *Task, who Canceler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(t, who)
	if w.over {
		who.Cancel()
	}
}

func (w *Work) add(t *Task, who Canceler) {
	t.who, t.prev, t.next = who, nil, w.first
	if w.first != nil {
		w.first.prev = t
	}
	w.first = t
}

// End removes a piece of work from the set. It does nothing if the piece is not in the set.
func (w *Work) End(t *Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.who == nil {
		return
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		w.first = t.next
	}
	*t = Task{}
	if w.first == nil && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// Closed reports whether Close was called.
func (w *Work) Closed() bool { return w.closed.Load() }

// Over reports whether Close has cancelled the work.
func (w *Work) Over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// Close refuses new work, calls meanwhile and waits for the running work. If ctx ends first, Close
// cancels all of it and returns ctx's error without waiting any longer, because the work may ignore
// its context. It reports whether this call closed the set; if not, it does not call meanwhile.
func (w *Work) Close(ctx context.Context, meanwhile func()) (first bool, err error) {
	w.mu.Lock()
	if w.closed.Load() {
		w.mu.Unlock()
		return false, nil
	}
	w.closed.Store(true)
	var idle chan struct{}
	if w.first != nil {
		idle = make(chan struct{})
		w.idle = idle
	}
	w.mu.Unlock()
	meanwhile()
	if idle == nil {
		return true, nil
	}
	select {
	case <-idle:
		return true, nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for t := w.first; t != nil; t = t.next {
		t.who.Cancel()
	}
	return true, ctx.Err()
}
