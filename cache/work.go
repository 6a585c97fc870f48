package cache

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/flight"
)

// work is the set of loads that run detached from their callers, so that
// Close can wait for them and, when its patience ends, cancel them. The zero
// work is ready.
type work struct {
	closed atomic.Bool   // written with mu held
	mu     sync.Mutex    // protects the rest
	idle   chan struct{} // made by close when something still runs
	jobs   map[*running]struct{}
}

// running is one entry of work.
type running struct{ flight.Canceler }

// begin registers a load, unless the set is closed. The load calls end.
func (w *work) begin(j *running) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return false
	}
	if w.jobs == nil {
		w.jobs = make(map[*running]struct{})
	}
	w.jobs[j] = struct{}{}
	return true
}

func (w *work) end(j *running) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.jobs, j)
	if w.closed.Load() && len(w.jobs) == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

func (w *work) isClosed() bool { return w.closed.Load() }

// close refuses new work, calls meanwhile and waits for what runs. When ctx ends
// first, it cancels all of it and returns ctx's error without waiting any longer:
// a loader may ignore its context. It reports whether this call closed the set;
// if not, meanwhile is not called.
func (w *work) close(ctx context.Context, meanwhile func()) (first bool, err error) {
	w.mu.Lock()
	if w.closed.Load() {
		w.mu.Unlock()
		return false, nil
	}
	w.closed.Store(true)
	var idle chan struct{}
	if len(w.jobs) > 0 {
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
	for j := range w.jobs {
		j.Cancel()
	}
	return true, ctx.Err()
}
