package httpcache

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// finalWriter is the writer of a handler that answers its client directly. Only the
// handler's goroutine uses it, as with every ResponseWriter.
type finalWriter struct {
	http.ResponseWriter
	before func(status int, h http.Header) // called when the final header is about to leave, once. Nil: nothing
	hide   []string                        // headers that no client sees
	done   bool                            // the final header has left, or the connection was taken over
}

// final prepares the header for leaving, unless it has left.
func (w *finalWriter) final(status int) {
	if w.done {
		return
	}
	w.done = true
	dropHeaders(w.Header(), w.hide)
	if w.before != nil {
		w.before(status, w.Header())
	}
}

// WriteHeader sends a header. One of 1xx is not final, except for 101.
func (w *finalWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.final(status)
	} else {
		dropHeaders(w.Header(), w.hide)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *finalWriter) Write(b []byte) (int, error) {
	w.final(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// ReadFrom sends a part of the body from a reader. The writer of net/http has a
// faster way than Write for files.
func (w *finalWriter) ReadFrom(src io.Reader) (int64, error) {
	w.final(http.StatusOK)
	return io.Copy(w.ResponseWriter, src)
}

// Flush is FlushError for handlers that do not ask.
func (w *finalWriter) Flush() { _ = w.FlushError() }

// FlushError sends what was written so far, at least the header.
func (w *finalWriter) FlushError() error {
	w.final(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack hands the connection over. What the handler then says on it is not known
// here.
func (w *finalWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.done = true
	}
	return conn, rw, err
}

// Push starts a push of HTTP/2.
func (w *finalWriter) Push(target string, opts *http.PushOptions) error {
	if p, ok := w.ResponseWriter.(http.Pusher); ok {
		return p.Push(target, opts)
	}
	return http.ErrNotSupported
}

// Unwrap is for http.ResponseController.
func (w *finalWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
