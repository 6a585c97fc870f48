package cache

import (
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
)

// OnInvalidate calls fn for every invalidation that is applied in this process from now on,
// and for all that expires: those of its own calls, and with a log those of other processes,
// once no read here serves what they cover. Those of others come in the log's order, which is
// one of keys and one of all else; where records are missing, an event of everything stands
// for them. One event may come twice.
//
// One goroutine calls fn, outside of every lock, so fn may use the caches. While fn runs, up
// to 1,024 events wait; beyond that all that wait become one about everything, and its Missed
// counts them. A panic of fn is logged, and the next event comes all the same.
//
// Stop, or Close of the Tiers, ends the calls; one that runs may go on for a moment. Stop
// may be called from fn, and more than once. OnInvalidate panics if fn is nil; on closed
// Tiers it does nothing.
func (t *Tiers) OnInvalidate(fn func(invalidate.Event)) (stop func()) {
	if fn == nil {
		panic("cache: OnInvalidate of a nil function")
	}
	return t.listeners.add(t, fn)
}

// maxEvents is how many events wait for one listener.
const maxEvents = 1024

// listeners are who wants to know of invalidations.
type listeners struct {
	n atomic.Int64 // of all, so that nobody pays without one

	mu     sync.Mutex // protects the rest
	all    []*listener
	closed bool
}

// listener is one of them, with what waits for it. listeners.mu protects it.
type listener struct {
	waiting []invalidate.Event
	woken   chan struct{} // has room for one
	gone    chan struct{}
}

func (l *listeners) add(t *Tiers, fn func(invalidate.Event)) (stop func()) {
	e := &listener{woken: make(chan struct{}, 1), gone: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return func() {}
	}
	l.all = append(l.all, e)
	l.n.Add(1)
	go e.serve(t, fn)
	return func() { l.remove(e) }
}

func (l *listeners) remove(e *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.all, e); i >= 0 {
		l.all = slices.Delete(l.all, i, i+1)
		l.n.Add(-1)
		close(e.gone)
	}
}

// close ends all of them.
func (l *listeners) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.n.Store(0)
	for _, e := range l.all {
		close(e.gone)
	}
	l.all = nil
}

// tell gives an event to everybody.
func (l *listeners) tell(event invalidate.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	event.At = time.Now()
	for _, e := range l.all {
		e.waiting = append(e.waiting, event)
		if len(e.waiting) > maxEvents {
			missed := 0
			for i := range e.waiting {
				missed += max(e.waiting[i].Missed, 1)
			}
			everything := []invalidate.Fence{invalidate.All().Fence()}
			e.waiting = append(e.waiting[:0], invalidate.Event{Fences: everything, Missed: missed, At: event.At})
		}
		select {
		case e.woken <- struct{}{}:
		default:
		}
	}
}

// take returns what waits for a listener.
func (l *listeners) take(e *listener) []invalidate.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := e.waiting
	e.waiting = nil
	return events
}

// serve calls fn until the listener is gone.
func (e *listener) serve(t *Tiers, fn func(invalidate.Event)) {
	for {
		select {
		case <-e.gone:
			return
		case <-e.woken:
		}
		for _, event := range t.listeners.take(e) {
			select {
			case <-e.gone:
				return
			default:
				t.call(fn, event)
			}
		}
	}
}

func (t *Tiers) call(fn func(invalidate.Event), event invalidate.Event) {
	defer func() {
		if recover() != nil { // what it panicked with may be a key
			t.log.Error("cache: a function of OnInvalidate panicked", "stack", string(debug.Stack()))
		}
	}()
	fn(event)
}

// told tells of what a call of this process asked for.
func (t *Tiers) told(r follow.Request) {
	if t.listeners.n.Load() > 0 {
		t.listeners.tell(invalidate.Event{Local: true, Scopes: slices.Clone(r.Scopes), Fences: r.Fences()})
	}
}

// heard tells of what another process asked for.
func (t *Tiers) heard(fences []invalidate.Fence) {
	if t.listeners.n.Load() > 0 {
		t.listeners.tell(invalidate.Event{Fences: fences})
	}
}
