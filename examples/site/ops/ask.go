package ops

import (
	"net/http"
	"strconv"
	"strings"
)

// ask asks the site for what is cached, as a client would; nil if it was not the
// cache that answered, such as for a response that is kept behind an API key.
func (h *Handler) ask(q *http.Request) *entry {
	if h.cfg.Site == nil {
		return nil
	}
	q.Method = http.MethodHead
	w := &headerOnly{header: http.Header{}}
	h.cfg.Site.ServeHTTP(w, q)
	status := strings.Join(w.header["Cache-Status"], ", ")
	if !strings.Contains(status, ";hit") {
		return nil
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(w.header.Get(name), 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	return &entry{
		Status: w.status, Age: number("Age"), Bytes: number("Content-Length"), Type: w.header.Get("Content-Type"),
		ETag: w.header.Get("ETag"), LastModified: w.header.Get("Last-Modified"), CacheStatus: status,
	}
}

// headerOnly is the writer of a response whose body nobody wants.
type headerOnly struct {
	header http.Header
	status int
}

// Header returns the header.
func (w *headerOnly) Header() http.Header { return w.header }

// WriteHeader keeps the status.
func (w *headerOnly) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// Write drops the body.
func (w *headerOnly) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return len(b), nil
}
