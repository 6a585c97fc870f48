package httpcache

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// maxRanges is the number of ranges that one request may ask for. A request for more gets the
// whole body, as RFC 9110 §14.2 allows.
const maxRanges = 32

// demanding reports whether a request asks for a part of a page, or sets a condition that usual
// clients do not set.
func demanding(h http.Header) bool {
	return has(h, "Range") || has(h, "If-Match") || has(h, "If-Unmodified-Since")
}

// preconditionFailed reports whether a request wants another version than the page (RFC 9110
// §13.2.2, steps 1 and 2). If-Match compares strongly, so a weak validator matches nothing.
func (p *page) preconditionFailed(h http.Header) bool {
	if p.Status != http.StatusOK {
		return false
	}
	if lines := h["If-Match"]; len(lines) > 0 {
		return !matchesStrongly(joined(lines), p.get("Etag"))
	}
	changed, ok := p.changedSince(h["If-Unmodified-Since"])
	return ok && changed
}

// rangeOf returns the ranges that a request asks for, in the form that http.ServeContent reads,
// or "" if the answer is the whole page. By RFC 9110 §14.2 only a GET has ranges, only a 200 is
// cut, and unknown units are ignored.
func (p *page) rangeOf(r *http.Request) string {
	lines := r.Header["Range"]
	if p.Status != http.StatusOK || r.Method != http.MethodGet || len(lines) != 1 {
		return ""
	}
	if !strings.HasPrefix(lines[0], "bytes=") || strings.Count(lines[0], ",") >= maxRanges || !p.ifRange(r.Header["If-Range"]) {
		return ""
	}
	return lines[0]
}

// ifRange reports whether the client's part is of this page (RFC 9110 §13.1.5). A date proves it
// only if the page could not have changed twice within that second.
func (p *page) ifRange(lines []string) bool {
	switch {
	case len(lines) == 0:
		return true
	case len(lines) > 1:
		return false
	}
	if tag, rest, ok := cutETag(strings.TrimSpace(lines[0])); ok {
		return rest == "" && tag[0] == '"' && tag == p.get("Etag")
	}
	t, err := http.ParseTime(lines[0])
	if err != nil {
		return false
	}
	m, err := http.ParseTime(p.get("Last-Modified"))
	return err == nil && m.Equal(t) && !time.UnixMilli(p.Made).Before(m.Add(time.Second))
}

// refuse412 answers a request whose precondition failed. The header is already that of the page.
func refuse412(w http.ResponseWriter) {
	h := w.Header()
	dropRepresentation(h)
	delete(h, "Last-Modified")
	w.WriteHeader(http.StatusPreconditionFailed)
}

// sendRange answers a request for parts of the page: 206, or 416 if there are no such parts. It
// returns how many bytes of body it sent. The header is already that of the page.
func (p *page) sendRange(w http.ResponseWriter, ranges string) (sent int64) {
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
// describe the page, so that no cache stores the 416 in the page's place.
type partWriter struct {
	http.ResponseWriter
	sent int64
}

// WriteHeader sends the status.
func (w *partWriter) WriteHeader(status int) {
	if h := w.Header(); status == http.StatusRequestedRangeNotSatisfiable {
		size, kind := h["Content-Range"], h["Content-Type"]
		dropRepresentation(h)
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

// dropRepresentation removes from h the headers that describe a page that is not sent, and how
// long it may be stored.
func dropRepresentation(h http.Header) {
	for _, name := range []string{
		"Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Range", "Expires", "Age", "Surrogate-Control",
	} {
		delete(h, name)
	}
	for name := range h {
		if strings.HasSuffix(name, "Cache-Control") { // RFC 9213 allows more such headers
			delete(h, name)
		}
	}
}
