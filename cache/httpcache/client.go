package httpcache

import (
	"context"
	"maps"
	"net/http"
	"sync"
)

// client is a request that waits for a page. A handler that renders for
// everybody can take it over when its response cannot be kept but may go on to
// the client for whom it was begun: while that one still waits, and once.
type client struct {
	ctx context.Context

	mu    sync.Mutex
	w     http.ResponseWriter // nil: taken, gone, or not to be had
	taken bool

	// done is closed when the handler that took the client over is done with it;
	// then panicked is what it panicked with.
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

// inform sends an informational response, if the client waits.
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
	clear(h) // what is said early is said again, if it is to be
	maps.Copy(h, before)
}

// leave says that the client does not wait any more. If it was taken over, leave
// returns when the handler is done with it, and passes on its panic.
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

// release ends what take began.
func (c *client) release(panicked any) {
	c.panicked = panicked
	close(c.done)
}
