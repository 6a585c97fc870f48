package exchange

import (
	"context"
	"net/http"
	"sync"
)

// running counts goroutines. Unlike a sync.WaitGroup it takes new ones during wait, because a
// refresh may begin at any time. The zero value is ready.
type running struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0; nil: no call of wait
}

// Go runs f in a counted goroutine.
func (r *running) Go(f func()) {
	r.Add(1)
	go func() {
		defer r.Add(-1)
		f()
	}()
}

func (r *running) Add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n += n
	if r.n == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// wait waits until no counted goroutine runs, or until ctx ends.
func (r *running) wait(ctx context.Context) error {
	r.mu.Lock()
	if r.n == 0 {
		r.mu.Unlock()
		return nil
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outliving is the context of a load without its end. It has http.ServerContextKey, as a server's
// handler has it. A handler such as a reverse proxy panics on a cut body only if the key is there.
// Without the key it returns as if the body were whole.
type outliving struct {
	context.Context // without an end: context.Background
	load            context.Context
	run             *Run
}

// Value returns the values of the load's context that the source may see.
func (c *outliving) Value(key any) any {
	v := c.load.Value(key)
	switch {
	case v != nil && c.run.hides(key):
		return nil
	case v == nil && key == http.ServerContextKey:
		return noServer
	}
	return v
}

// noServer serves nothing.
var noServer = &http.Server{} //nolint:gosec // it serves nothing
