package httpcache

import (
	"errors"
	"net/http"

	"github.com/twofold-go/twofold/cache"
)

// refusedTo answers a client that waited for what is not for everybody.
func (c *Cache) refusedTo(x *exchange, w http.ResponseWriter, r *http.Request, why reason) {
	x.asked(c.cfg.Format(x.t.path, nil))
	c.alone(x.next, w, r, x.t, c.lines.miss(x.missed(why)))
}

// failedWith answers a client for whom there is no page.
func (x *exchange) failedWith(w http.ResponseWriter, r *http.Request, err error) {
	c := x.c
	if f, ok := errors.AsType[*failure](err); ok {
		led := x.led.Load()
		x.asked(f.page.Format)
		if f.mine && x.fall.Load() != f {
			c.alone(x.next, w, r, x.t, c.lines.miss(x.missed(byStatus)))
			return
		}
		m := x.missed(byStatus)
		m.collapsed = !led
		line := c.lines.miss(m)
		if _, ok := errors.AsType[*cache.RememberedError](err); ok {
			line = c.lines.hit
		}
		c.answer(w, r, f.page, line, -1)
		return
	}
	if p, ok := errors.AsType[*cache.PanicError](err); ok {
		panic(repanic(p))
	}
	if errors.Is(err, cache.ErrClosed) {
		c.forItself(x.next, w, r, x.t, byClosing)
		return
	}
	c.stats.refuse(byFailure)
	if now := c.cfg.Now().Unix(); r.Context().Err() == nil && c.warned.Swap(now) != now {
		c.cfg.Logger.WarnContext(r.Context(), "httpcache: no response", "err", cause(err)) // once a second
	}
	status := http.StatusServiceUnavailable
	if x.strict.Load() {
		status = http.StatusGatewayTimeout // RFC 9111 §5.2.2.2
	}
	unavailable(w, status)
}

// cause returns what is under the library's error, which names the key.
func cause(err error) error {
	if e, ok := errors.AsType[*cache.Error](err); ok {
		return e.Err
	}
	return err
}

// repanic returns what to panic with in the place of a handler that did: the same,
// as far as net/http cares; otherwise with the handler's own stack.
func repanic(err error) any {
	p, ok := errors.AsType[*cache.PanicError](err)
	if !ok || errors.Is(p, http.ErrAbortHandler) {
		return http.ErrAbortHandler
	}
	return p
}

// unavailable answers when the handler did not answer in time, or was not asked
// because too many are. It is also what a client gets that has left.
func unavailable(w http.ResponseWriter, status int) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "1")
	http.Error(w, http.StatusText(status), status)
}

// logPanic tells the operator of a panic that no client notices.
func (c *Cache) logPanic(p *cache.PanicError) {
	if p == nil || errors.Is(p, http.ErrAbortHandler) {
		return
	}
	// The stack, but not what the handler panicked with: it may be a value.
	c.cfg.Logger.Error("httpcache: a handler panicked, and an older page is served", "stack", string(p.Stack))
}
