package record

import (
	"context"
	"maps"
	"net/http"
	"sync"

	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
)

// Client is a request that waits for a page. If the response cannot be stored, a handler that
// renders for everybody may take over the client that started the rendering: once, and only while
// the client still waits.
type Client struct {
	Ctx context.Context

	mu     sync.Mutex
	Writer http.ResponseWriter // nil: taken, gone, or none
	To     http.ResponseWriter // the same, after it was taken; or nil

	// done is closed when the handler that took the client over has finished with it. Then
	// panicked is what that handler panicked with.
	done     chan struct{}
	panicked any
}

// Take returns the client's writer, or nil.
func (c *Client) Take() http.ResponseWriter {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.Writer
	if w != nil {
		c.Writer, c.To, c.done = nil, w, make(chan struct{})
	}
	return w
}

// Inform sends an informational response, if the client still waits.
func (c *Client) Inform(status int, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Writer == nil {
		return
	}
	h := c.Writer.Header()
	before := h.Clone()
	page.Merge(h, header)
	c.Writer.WriteHeader(status)
	clear(h) // the final header repeats what it needs
	maps.Copy(h, before)
}

// Waits reports whether the client still waits for an answer.
func (c *Client) Waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Writer != nil
}

// Quit says that the client no longer waits. It reports whether a source has taken the client over.
func (c *Client) Quit() (taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Writer = nil
	return c.To != nil
}

// Leave says that the client no longer waits. If a handler took the client over, Leave waits for
// that handler and passes on its panic.
func (c *Client) Leave() (taken bool) {
	if !c.Quit() {
		return false
	}
	<-c.done
	if c.panicked != nil {
		panic(c.panicked)
	}
	return true
}

// ender is a writer whose client reads until the source has ended.
type ender interface{ End(err error, panicked any) }

// Release ends the takeover that Take began. The source has ended with an error, or with a panic.
func (c *Client) Release(err error, panicked any) {
	if to, ok := c.To.(ender); ok {
		to.End(err, panicked)
		return
	}
	c.panicked = panicked
	close(c.done)
}
