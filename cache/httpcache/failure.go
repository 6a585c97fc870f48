package httpcache

import (
	"errors"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// failure is a load that got no response, or a failure of the source. An older page may replace it.
type failure struct {
	page *page.Page // nil: there is none
	mine bool       // not for everybody
	err  error      // of a server that did not answer
}

// CacheCode makes failure a cache.Coder, so that the error is remembered with its page.
func (f *failure) CacheCode() string { return "status" }

func (f *failure) Error() string {
	if f.err != nil {
		return f.err.Error()
	}
	return "httpcache: the origin answered " + http.StatusText(f.page.Status)
}

func (f *failure) Unwrap() error { return f.err }

// refusedTo answers a client that waited for a response that is not for everybody.
func (c *Cache) refusedTo(x *handling, w http.ResponseWriter, r *http.Request, why reason.Reason) {
	x.asked("other")
	c.alone(x.next, w, r, x.t, c.lines.Miss(x.missed(why)))
}

// failedWith answers a client after a load has failed.
func (x *handling) failedWith(w http.ResponseWriter, r *http.Request, err error) {
	c := x.c
	if f, ok := errors.AsType[*failure](err); ok {
		led := x.led.Load()
		x.asked(f.page.Format)
		if f.mine {
			c.alone(x.next, w, r, x.t, c.lines.Miss(x.missed(reason.Status)))
			return
		}
		m := x.missed(reason.Status)
		m.Collapsed = !led
		line := c.lines.Miss(m)
		if _, ok := errors.AsType[*cache.RememberedError](err); ok {
			line = c.lines.Hit
		}
		c.answer(w, r, f.page, line, "")
		return
	}
	if errors.Is(err, cache.ErrClosed) {
		c.forItself(x.next, w, r, x.t, reason.Closing)
		return
	}
	if errors.Is(err, cache.ErrLoadTimeout) && r.Context().Err() == nil {
		c.memory.add(x.at(), c.now())
		c.forItself(x.next, w, r, x.t, reason.Slow)
		return
	}
	c.stats.refuse(reason.Failure)
	if r.Context().Err() == nil {
		c.warn(r.Context(), "no response", err)
	}
	status := http.StatusServiceUnavailable
	if x.strict.Load() {
		status = http.StatusGatewayTimeout // RFC 9111 §5.2.2.2
	}
	unavailable(w, status)
}

// cause returns the error inside the library's error, which names the key.
func cause(err error) error {
	if e, ok := errors.AsType[*cache.Error](err); ok {
		return e.Err
	}
	return err
}

// repanic returns what to panic with after a handler panicked. For http.ErrAbortHandler and for
// Goexit it is http.ErrAbortHandler, otherwise an error with the handler's own stack.
func repanic(err error) any {
	p, ok := errors.AsType[*cache.PanicError](err)
	if !ok || errors.Is(p, http.ErrAbortHandler) {
		return http.ErrAbortHandler
	}
	return p
}

// unavailable answers when there is no response: the handler did not answer in time, or too many
// loads run. A client that has left gets it too.
func unavailable(w http.ResponseWriter, status int) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "1")
	http.Error(w, http.StatusText(status), status)
}

// logPanic logs a panic that no client notices.
func (k *core) logPanic(p *cache.PanicError) {
	if p == nil || errors.Is(p, http.ErrAbortHandler) {
		return
	}
	// Log the stack, but not the panic value: it may hold data.
	k.logger.Error("httpcache: a handler panicked, and an older page is served", "stack", string(p.Stack))
}

// refusal is the error of a refresh whose response may not be stored. The old page stays.
type refusal struct{ why reason.Reason }

func (e *refusal) Error() string { return "httpcache: a refresh was refused: " + e.why.String() }
