package resident

import (
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// maxEvents is how many events wait for one listener.
const maxEvents = 1024

// Listeners are the functions that a program wants called with each invalidation. Each has a queue and
// a goroutine, so a slow one delays no other. Set Log before any
// call. All methods may be called concurrently.
type Listeners struct {
	Log *slog.Logger

	n atomic.Int64 // = len(all); an invalidation without listeners takes no lock

	mu     sync.Mutex // protects the rest
	all    []*listener
	closed bool
}

// listener is one function with the events that wait for it. Listeners.mu protects it.
type listener struct {
	waiting []invalidate.Event
	woken   chan struct{} // has room for one
	gone    chan struct{}
	exits   sync.Once // the log line about Goexit
}

// Add calls fn with each event from now on, one at a time, in a goroutine of its own. After Close it
// does nothing.
func (l *Listeners) Add(fn func(invalidate.Event)) (stop func()) {
	e := &listener{woken: make(chan struct{}, 1), gone: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return func() {}
	}
	l.all = append(l.all, e)
	l.n.Add(1)
	go e.serve(l, fn)
	return func() { l.remove(e) }
}

func (l *Listeners) remove(e *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.all, e); i >= 0 {
		l.all = slices.Delete(l.all, i, i+1)
		l.n.Add(-1)
		close(e.gone)
	}
}

// Close removes all functions. It does not wait for the calls under way.
func (l *Listeners) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.n.Store(0)
	for _, e := range l.all {
		close(e.gone)
	}
	l.all = nil
}

// Any reports whether there are functions. It takes no lock.
func (l *Listeners) Any() bool { return l.n.Load() > 0 }

// Tell passes on an event. It does not wait for the functions. If more than 1,024 events wait for
// one of them, an event of everything replaces these.
func (l *Listeners) Tell(event invalidate.Event) {
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
			all := []invalidate.Fence{{Scope: invalidate.All()}}
			e.waiting = append(e.waiting[:0], invalidate.Event{Fences: all, Missed: missed, At: event.At})
		}
		select {
		case e.woken <- struct{}{}:
		default:
		}
	}
}

func (l *Listeners) take(e *listener) []invalidate.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := e.waiting
	e.waiting = nil
	return events
}

func (e *listener) serve(l *Listeners, fn func(invalidate.Event)) {
	for {
		select {
		case <-e.gone:
			return
		case <-e.woken:
		}
		if !e.deliver(l, fn, l.take(e)) {
			return
		}
	}
}

// deliver calls fn with events. It reports false if the listener is gone. If fn ends the goroutine,
// the next events are delivered by another one.
func (e *listener) deliver(l *Listeners, fn func(invalidate.Event), events []invalidate.Event) bool {
	orderly := false
	defer func() {
		if !orderly {
			e.exits.Do(func() {
				l.Log.Error("cache: a function of OnInvalidate called runtime.Goexit; it gets the next events in another goroutine")
			})
			go e.goOn(l, fn, events)
		}
	}()
	for len(events) > 0 {
		select {
		case <-e.gone:
			orderly = true
			return false
		default:
		}
		event := events[0]
		events = events[1:]
		l.call(fn, event)
	}
	orderly = true
	return true
}

func (e *listener) goOn(l *Listeners, fn func(invalidate.Event), events []invalidate.Event) {
	if e.deliver(l, fn, events) {
		e.serve(l, fn)
	}
}

func (l *Listeners) call(fn func(invalidate.Event), event invalidate.Event) {
	defer func() {
		if recover() != nil { // the panic's value may be a key
			l.Log.Error("cache: a function of OnInvalidate panicked", "stack", string(debug.Stack()))
		}
	}()
	fn(event)
}
