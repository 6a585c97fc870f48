package httpcache

import (
	"bufio"
	"net"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// Flush is FlushError without the error.
func (r *recorder) Flush() { _ = r.FlushError() }

// FlushError sends what was written so far. A handler that flushes has a client that waits for
// each part, so the response is a stream.
func (r *recorder) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.writeHeader(http.StatusOK)
	}
	if r.phase == recording && r.verdict.held {
		return nil
	}
	if r.phase == recording && r.verdict.fate == store && r.who.tees() {
		if r.tail == nil {
			r.share()
		} else {
			r.tail.more(true)
		}
		return nil
	}
	if r.phase == recording {
		r.stop(reason.Flush)
	}
	if r.phase != passing {
		return errNotRecorded
	}
	return http.NewResponseController(r.out).Flush()
}

// Hijack hands over the connection, if there is one.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, err := r.connection()
	if err != nil {
		return nil, nil, err
	}
	conn, rw, err := c.Hijack()
	if err == nil {
		r.mu.Lock()
		r.phase = dropped
		r.mu.Unlock()
	}
	return conn, rw, err
}

// SetReadDeadline is for http.ResponseController.
func (r *recorder) SetReadDeadline(t time.Time) error {
	return r.control(func(c *http.ResponseController) error { return c.SetReadDeadline(t) })
}

// SetWriteDeadline is for http.ResponseController.
func (r *recorder) SetWriteDeadline(t time.Time) error {
	return r.control(func(c *http.ResponseController) error { return c.SetWriteDeadline(t) })
}

// EnableFullDuplex is for http.ResponseController.
func (r *recorder) EnableFullDuplex() error {
	return r.control((*http.ResponseController).EnableFullDuplex)
}

func (r *recorder) control(do func(*http.ResponseController) error) error {
	c, err := r.connection()
	if err != nil {
		return err
	}
	return do(c)
}

// connection returns the controller of the one client's connection. A handler that renders for
// everybody and asks for it needs one client: recording stops.
func (r *recorder) connection() (*http.ResponseController, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == recording && r.client == nil {
		r.stop(reason.Control)
	}
	switch r.phase {
	case passing:
		return http.NewResponseController(r.out), nil
	case recording:
		return http.NewResponseController(r.client), nil
	case dropped, over:
	}
	return nil, errNotRecorded
}
