package record

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// Flush is FlushError without the error.
func (r *Recorder) Flush() { _ = r.FlushError() }

// FlushError sends what was written so far. A handler that flushes has a client that waits for
// each part, so the response is a stream.
func (r *Recorder) FlushError() error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Status == 0 {
		r.writeHeader(http.StatusOK)
	}
	switch {
	case r.phase == recording && r.Verdict.Held:
		return nil
	case r.phase == recording && r.Tail != nil:
		r.Tail.more(true)
		return nil
	case r.Share():
		return nil
	case r.phase == recording:
		r.stop(reason.Flush)
	}
	if r.phase != passing {
		return ErrNotRecorded
	}
	return http.NewResponseController(r.out).Flush()
}

// Hijack hands over the connection, if there is one.
func (r *Recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, err := r.connection()
	if err != nil {
		return nil, nil, err
	}
	conn, rw, err := c.Hijack()
	if err == nil {
		r.Mu.Lock()
		r.phase = dropped
		r.Mu.Unlock()
	}
	return conn, rw, err
}

// SetReadDeadline is for http.ResponseController.
func (r *Recorder) SetReadDeadline(t time.Time) error {
	return r.control(func(c *http.ResponseController) error { return c.SetReadDeadline(t) })
}

// SetWriteDeadline is for http.ResponseController.
func (r *Recorder) SetWriteDeadline(t time.Time) error {
	return r.control(func(c *http.ResponseController) error { return c.SetWriteDeadline(t) })
}

// EnableFullDuplex is for http.ResponseController.
func (r *Recorder) EnableFullDuplex() error {
	return r.control((*http.ResponseController).EnableFullDuplex)
}

func (r *Recorder) control(do func(*http.ResponseController) error) error {
	c, err := r.connection()
	if err != nil {
		return err
	}
	return do(c)
}

// connection returns the controller of the one client's connection. A handler that renders for
// everybody and asks for it needs one client: recording stops.
func (r *Recorder) connection() (*http.ResponseController, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.phase == recording && r.Client == nil {
		r.stop(reason.Control)
	}
	switch r.phase {
	case passing:
		return http.NewResponseController(r.out), nil
	case recording:
		return http.NewResponseController(r.Client), nil
	case dropped, over:
	}
	return nil, ErrNotRecorded
}

// trail passes on the trailers, announced or not.
func (r *Recorder) trail() {
	h := r.out.Header()
	for _, line := range r.Sent["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if v, ok := r.Given[name]; ok {
				h[name] = v
			}
		}
	}
	for name, v := range r.Given {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			h[name] = v
		}
	}
}

func hasTrailers(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}
