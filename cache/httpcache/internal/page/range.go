package page

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// SendRange answers a request for parts of the page: 206, or 416 if there are no such parts. It
// returns how many bytes of body it sent. The header is already that of the page.
func (p *Page) SendRange(w http.ResponseWriter, ranges string) (sent int64) {
	h := w.Header()
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil // keeps ServeContent from guessing a type
	}
	part := partWriter{ResponseWriter: w}
	r := &http.Request{Method: http.MethodGet, Header: http.Header{"Range": {ranges}}}
	http.ServeContent(&part, r, "", time.Time{}, bytes.NewReader(p.Body))
	return part.sent
}

// partWriter counts the bytes that ServeContent sends. From a 416 it removes the headers that
// describe the page: no cache must store the 416 in the page's place.
type partWriter struct {
	http.ResponseWriter
	sent int64
}

// WriteHeader sends the status.
func (w *partWriter) WriteHeader(status int) {
	if h := w.Header(); status == http.StatusRequestedRangeNotSatisfiable {
		size, kind := h["Content-Range"], h["Content-Type"]
		rules.DropRepresentation(h)
		h["Content-Type"] = kind
		if len(size) > 0 {
			h["Content-Range"] = size
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *partWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.sent += int64(n)
	return n, err
}

// Ranged answers a request for parts of the page.
func (p *Page) Ranged(resp *http.Response, ranges string) *http.Response {
	w := &memoryWriter{header: resp.Header, status: http.StatusOK}
	delete(w.header, "Content-Length")
	p.SendRange(w, ranges)
	if len(w.header["Content-Type"]) == 0 {
		delete(w.header, "Content-Type")
	}
	resp.StatusCode, resp.Status = w.status, StatusLine(w.status)
	resp.ContentLength, resp.Body = int64(w.body.Len()), io.NopCloser(&w.body)
	return resp
}

// memoryWriter takes what http.ServeContent writes.
type memoryWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *memoryWriter) Header() http.Header { return w.header }

func (w *memoryWriter) WriteHeader(status int) { w.status = status }

func (w *memoryWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

// StatusLine returns a status with its text, as in an http.Response.
func StatusLine(status int) string {
	if status == http.StatusOK {
		return "200 OK"
	}
	return strconv.Itoa(status) + " " + http.StatusText(status)
}
