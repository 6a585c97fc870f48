package record

import (
	"context"
	"maps"
	"net/http"
	"sync"

	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Client is a request that waits for a page. If the response cannot be stored, a handler that
// renders for everybody may take over the client that started the rendering: once, and only while
// the client still waits.
type Client struct {
	Ctx context.Context

	mu     sync.Mutex
	Writer http.ResponseWriter // nil: taken, gone, or none
	To     http.ResponseWriter // the same, after it was taken; or nil
	hints  *hints              // nil: there were none

	// done is closed when the handler that took the client over has finished with it. Then
	// panicked is what that handler panicked with.
	done     chan struct{}
	panicked any
}

// Take returns the client's writer, or nil. It does not wait for the client, because others wait for the
// source.
func (c *Client) Take() http.ResponseWriter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Writer == nil {
		return nil
	}
	c.Writer, c.To, c.done = nil, c.Writer, make(chan struct{})
	if c.hints != nil && len(c.hints.left) > 0 {
		c.To = &hinted{c: c, w: c.To, header: make(http.Header)}
	}
	return c.To
}

// hints are informational responses on their way to a client. A goroutine sends them, because others wait
// for the source, and the client may not read. Those that find no room are left out: no client needs them.
type hints struct {
	left []hint
	size int       // of their headers
	sent sync.Cond // signals that none is left
}

type hint struct {
	status int
	header http.Header
}

// maxHints is how many informational responses wait for a client that does not read. Their headers have at most
// MaxHeader bytes together.
const maxHints = 64

// Inform sends an informational response, if the client still waits and has read most of the earlier ones.
func (c *Client) Inform(status int, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Writer == nil {
		return
	}
	if c.hints == nil {
		c.hints = &hints{}
		c.hints.sent.L = &c.mu
	}
	size := rules.Size(header)
	if len(c.hints.left) == maxHints || c.hints.size+size > MaxHeader {
		return
	}
	c.hints.size += size
	c.hints.left = append(c.hints.left, hint{status, header})
	if len(c.hints.left) == 1 {
		go c.inform(c.hints, c.Writer)
	}
}

func (c *Client) inform(all *hints, w http.ResponseWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(all.left) > 0 {
		first := all.left[0]
		c.mu.Unlock()
		first.send(w)
		c.mu.Lock()
		all.left, all.size = all.left[1:], all.size-rules.Size(first.header)
	}
	all.sent.Broadcast()
}

// send ignores a panic of the writer, which would end the program. The final response meets it again.
func (t hint) send(w http.ResponseWriter) {
	defer func() { _ = recover() }()
	t.pass(w)
}

// pass sends an informational response. It leaves the header of the writer as it was.
func (t hint) pass(w http.ResponseWriter) {
	h := w.Header()
	before := h.Clone()
	page.Merge(h, t.header)
	w.WriteHeader(t.status)
	clear(h) // the final header repeats what it needs
	maps.Copy(h, before)
}

// informed waits until the client has all informational responses. The caller holds mu.
func (c *Client) informed() {
	for c.hints != nil && len(c.hints.left) > 0 {
		c.hints.sent.Wait()
	}
}

// Waits reports whether the client still waits for an answer.
func (c *Client) Waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Writer != nil
}

// Taken reports whether a source has taken the client over.
func (c *Client) Taken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.To != nil
}

// Quit says that the client no longer waits. It reports whether a source has taken the client over.
func (c *Client) Quit() (taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.informed()
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
