package record

import (
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
)

// hinted is the writer of a client that was taken before it had all informational responses. It keeps the
// header. Writes and flushes wait until the client has them.
type hinted struct {
	c      *Client
	w      http.ResponseWriter
	header http.Header
	status int  // 0: not written yet
	begun  bool // w is used
}

// Header returns the header, and after WriteHeader the trailers. A recorder asks for these at the end, so a
// response without a body is sent, too.
func (t *hinted) Header() http.Header {
	if t.status != 0 {
		t.begin()
	}
	if t.begun {
		return t.w.Header()
	}
	return t.header
}

func (t *hinted) WriteHeader(status int) {
	if t.begun {
		t.w.WriteHeader(status)
	} else if t.status == 0 {
		t.status = status
	}
}

func (t *hinted) begin() {
	if t.begun {
		return
	}
	t.c.mu.Lock()
	t.c.informed()
	t.c.mu.Unlock()
	t.begun = true
	page.Merge(t.w.Header(), t.header)
	if t.status != 0 {
		t.w.WriteHeader(t.status)
	}
}

func (t *hinted) Write(b []byte) (int, error) {
	t.begin()
	return t.w.Write(b)
}

// FlushError is for http.ResponseController.
func (t *hinted) FlushError() error {
	t.begin()
	return http.NewResponseController(t.w).Flush()
}

// Unwrap is for http.ResponseController.
func (t *hinted) Unwrap() http.ResponseWriter {
	t.begin()
	return t.w
}
