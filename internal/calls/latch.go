package calls

import "sync"

// Latch runs a function when it is opened. The zero Latch is closed.
type Latch struct {
	mu     sync.Mutex // protects the rest
	opened bool
	f      func()
}

// Open opens the latch. Opening it again has no effect on the state.
func (l *Latch) Open() {
	l.mu.Lock()
	l.opened = true
	f := l.f
	l.mu.Unlock()
	if f != nil {
		f()
	}
}

// OnOpen sets the function to run, and runs it immediately if the latch is open.
func (l *Latch) OnOpen(f func()) {
	l.mu.Lock()
	l.f = f
	opened := l.opened
	l.mu.Unlock()
	if opened {
		f()
	}
}
