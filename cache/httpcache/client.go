package httpcache

import (
	"context"
	"maps"
	"net/http"
	"sync"

	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
)

// client is a request that waits for a page. If the response cannot be stored, a handler that
// renders for everybody may take over the client that started the rendering: once, and only while
// the client still waits.
type client struct {
	ctx context.Context

	mu    sync.Mutex
	w     http.ResponseWriter // nil: taken, gone, or none
	to    http.ResponseWriter // w, after it was taken
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
		c.w, c.to, c.taken, c.done = nil, w, true, make(chan struct{})
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
	page.Merge(h, header)
	c.w.WriteHeader(status)
	clear(h) // the final header repeats what it needs
	maps.Copy(h, before)
}

// waits reports whether the client still waits for an answer.
func (c *client) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w != nil
}

// quit says that the client no longer waits. It reports whether a source has taken the client over.
func (c *client) quit() (taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w = nil
	return c.taken
}

// leave says that the client no longer waits. If a handler took the client over, leave waits for
// that handler and passes on its panic.
func (c *client) leave() (taken bool) {
	if !c.quit() {
		return false
	}
	<-c.done
	if c.panicked != nil {
		panic(c.panicked)
	}
	return true
}

// release ends the takeover that take began. The source has ended with an error, or with a panic.
func (c *client) release(err error, panicked any) {
	if to, ok := c.to.(*caller); ok {
		to.end(err, panicked)
		return
	}
	c.panicked = panicked
	close(c.done)
}
