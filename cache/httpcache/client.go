package httpcache

import (
	"context"
	"maps"
	"net/http"
	"sync"
)

// client is a request that waits for a page. If the response cannot be stored, a handler that
// renders for everybody may take over the client that started the rendering: once, and only while
// the client still waits.
type client struct {
	ctx context.Context

	mu    sync.Mutex
	w     http.ResponseWriter // nil: taken, gone, or none
	taken bool

	// done is closed when the handler that took the client over has finished with it. Then
	// panicked is what that handler panicked with.
	done     chan struct{}
	panicked any
}

// take returns the client's writer, or nil.
func (c *client) take() http.ResponseWriter {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.w
	if w != nil {
		c.w, c.taken, c.done = nil, true, make(chan struct{})
	}
	return w
}

// inform sends an informational response, if the client still waits.
func (c *client) inform(status int, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.w == nil {
		return
	}
	h := c.w.Header()
	before := h.Clone()
	merge(h, header)
	c.w.WriteHeader(status)
	clear(h) // the final header repeats what it needs
	maps.Copy(h, before)
}

// leave says that the client no longer waits. If a handler took the client over, leave waits for
// that handler and passes on its panic.
func (c *client) leave() (taken bool) {
	c.mu.Lock()
	c.w = nil
	c.mu.Unlock()
	if !c.taken {
		return false
	}
	<-c.done
	if c.panicked != nil {
		panic(c.panicked)
	}
	return true
}

// release ends the takeover that take began.
func (c *client) release(panicked any) {
	c.panicked = panicked
	close(c.done)
}
