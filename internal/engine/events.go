package engine

import (
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/lognames"
	"github.com/twofold-go/twofold/invalidate"
)

// OnInvalidate calls fn with each invalidation and Expire of this process and of others.
func (t *Core) OnInvalidate(fn func(invalidate.Event)) (stop func()) {
	return t.listeners.add(t, fn)
}

// maxEvents is how many events wait for one listener.
const maxEvents = 1024

// listeners are the functions given to OnInvalidate.
type listeners struct {
	n atomic.Int64 // = len(all), so that an invalidation without listeners takes no lock

	mu     sync.Mutex // protects the rest
	all    []*listener
	closed bool
}

// listener is one function with the events that wait for it. listeners.mu protects it.
type listener struct {
	waiting []invalidate.Event
	woken   chan struct{} // has room for one
	gone    chan struct{}
	exits   sync.Once // the log line about Goexit
}

func (l *listeners) add(t *Core, fn func(invalidate.Event)) (stop func()) {
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
			all := invalidate.All()
			e.waiting = append(e.waiting[:0], invalidate.Event{
				Scopes: []invalidate.Scope{all}, Fences: []invalidate.Fence{all.Fence()}, Missed: missed, At: event.At,
			})
		}
		select {
		case e.woken <- struct{}{}:
		default:
		}
	}
}

func (l *listeners) take(e *listener) []invalidate.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := e.waiting
	e.waiting = nil
	return events
}

func (e *listener) serve(t *Core, fn func(invalidate.Event)) {
	for {
		select {
		case <-e.gone:
			return
		case <-e.woken:
		}
		if !e.deliver(t, fn, t.listeners.take(e)) {
			return
		}
	}
}

// deliver calls fn with events. It reports false if the listener is gone. If fn ends the goroutine,
// the next events are delivered by another one.
func (e *listener) deliver(t *Core, fn func(invalidate.Event), events []invalidate.Event) bool {
	orderly := false
	defer func() {
		if !orderly {
			e.exits.Do(func() {
				t.log.Error("cache: a function of OnInvalidate called runtime.Goexit; it gets the next events in another goroutine")
			})
			go e.goOn(t, fn, events)
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
		t.call(fn, event)
	}
	orderly = true
	return true
}

func (e *listener) goOn(t *Core, fn func(invalidate.Event), events []invalidate.Event) {
	if e.deliver(t, fn, events) {
		e.serve(t, fn)
	}
}

func (t *Core) call(fn func(invalidate.Event), event invalidate.Event) {
	defer func() {
		if recover() != nil { // the panic's value may be a key
			t.log.Error("cache: a function of OnInvalidate panicked", "stack", string(debug.Stack()))
		}
	}()
	fn(event)
}

// told reports an invalidation or Expire of this process.
func (t *Core) told(r follow.Request) {
	if t.listeners.n.Load() > 0 {
		t.listeners.tell(invalidate.Event{Local: true, Scopes: slices.Clone(r.Scopes), Fences: r.Fences()})
	}
}

// heard reports an invalidation or Expire of another process.
func (t *Core) heard(fences []invalidate.Fence, names string) {
	if t.listeners.n.Load() > 0 {
		scopes, unnamed := lognames.Read(names, fences)
		t.listeners.tell(invalidate.Event{Scopes: scopes, Unnamed: unnamed, Fences: fences})
	}
}
