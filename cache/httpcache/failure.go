package httpcache

import (
	"errors"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// refusedTo answers a client that waited for a response that is not for everybody.
func (x *handling) refusedTo(w http.ResponseWriter, r *http.Request, why reason.Reason) {
	x.Asked("other")
	x.alone(w, r, x.c.k.Lines.Miss(x.Missed(why)))
}

// failedWith answers a client after a load has failed.
func (x *handling) failedWith(w http.ResponseWriter, r *http.Request, err error) {
	c := x.c
	if f, ok := errors.AsType[*exchange.Failure](err); ok {
		led := x.Asked(f.Page.Format)
		if f.Mine {
			x.alone(w, r, c.k.Lines.Miss(x.Missed(reason.Status)))
			return
		}
		m := x.Missed(reason.Status)
		m.Collapsed = !led
		line := c.k.Lines.Miss(m)
		if _, ok := errors.AsType[*cache.RememberedError](err); ok {
			line = c.k.Lines.Hit
		}
		c.answer(w, r, f.Page, line, "")
		return
	}
	if errors.Is(err, cache.ErrClosed) {
		x.forItself(w, r, reason.Closing)
		return
	}
	if errors.Is(err, cache.ErrLoadTimeout) && r.Context().Err() == nil {
		c.k.Memory.Add(x.At(), c.k.Now())
		x.forItself(w, r, reason.Slow)
		return
	}
	c.k.Stats.Refuse(reason.Failure)
	if r.Context().Err() == nil {
		c.k.Warn(r.Context(), "no response", err)
	}
	status := http.StatusServiceUnavailable
	if x.Strict.Load() {
		status = http.StatusGatewayTimeout // RFC 9111 §5.2.2.2
	}
	unavailable(w, status)
}

// unavailable answers when there is no response: the handler did not answer in time, or too many
// loads run. A client that has left gets it too.
func unavailable(w http.ResponseWriter, status int) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "1")
	http.Error(w, http.StatusText(status), status)
}
