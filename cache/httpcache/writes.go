package httpcache

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"

	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// past lets the handler answer a request that bypasses the cache. The answer gets the line of
// Cache-Status, if it is not empty. A successful write invalidates what it has changed before the
// client gets the answer. If sees is not nil, it is called with that answer before, too.
func (c *Cache) past(next http.Handler, w http.ResponseWriter, r *http.Request, line string, sees func(status int, h http.Header)) {
	writes := !rules.Safe(r.Method) && !c.cfg.IgnoreWrites && !c.cfg.Off
	if !writes && line == "" {
		next.ServeHTTP(w, r)
		return
	}
	f := &finalWriter{ResponseWriter: w, line: line, before: sees}
	if writes {
		// Read r now: the handler may change it.
		wr := exchange.Write{Ctx: context.WithoutCancel(r.Context()), Host: r.Host, Path: r.URL.Path, Line: r.RequestURI}
		f.before = func(status int, h http.Header) {
			if status >= 200 && status < 400 {
				c.k.Wrote(wr, h)
			}
		}
	}
	next.ServeHTTP(f, r)
	f.final(http.StatusOK)
}

// finalWriter is the writer of a handler that answers its client directly. Only the handler's
// goroutine uses it, as with every ResponseWriter.
type finalWriter struct {
	http.ResponseWriter
	before func(status int, h http.Header) // called once, before the final header is sent; nil: nothing
	line   string                          // of Cache-Status; it follows those of the handler's caches (RFC 9211 §2)
	done   bool                            // the final header is sent, or the connection was taken over
}

// final prepares the final header, once.
func (w *finalWriter) final(status int) {
	if w.done {
		return
	}
	w.done = true
	if w.before != nil {
		w.before(status, w.Header())
	}
	w.mark()
}

func (w *finalWriter) mark() {
	if w.line != "" {
		h := w.Header()
		h["Cache-Status"] = append(slices.Clip(h["Cache-Status"]), w.line)
	}
}

// WriteHeader sends a header. A 1xx is not final, except for 101.
func (w *finalWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.final(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *finalWriter) Write(b []byte) (int, error) {
	w.final(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// ReadFrom sends a part of the body from a reader. For files, net/http has a faster way than
// Write.
func (w *finalWriter) ReadFrom(src io.Reader) (int64, error) {
	w.final(http.StatusOK)
	return io.Copy(w.ResponseWriter, src)
}

// Flush is FlushError without the error.
func (w *finalWriter) Flush() { _ = w.FlushError() }

// FlushError sends the header and what was written so far.
func (w *finalWriter) FlushError() error {
	w.final(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack hands over the connection. What the handler then sends on it is unknown.
func (w *finalWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.done = true
		w.mark() // a reverse proxy sends this header on the connection
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

// CloseNotify is for frameworks that still ask for it. If the inner writer has none, the channel
// never gets a value.
func (w *finalWriter) CloseNotify() <-chan bool {
	if n, ok := w.ResponseWriter.(http.CloseNotifier); ok { //nolint:staticcheck // deprecated, but in use
		return n.CloseNotify()
	}
	return make(chan bool)
}
