package httpcache

import (
	"context"
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// RoundTrip answers a request from the cache, or by Base. It does not change the request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	h, saw := lookAt(r.Header)
	id, why := t.key(r, h, saw)
	w := saw.Request(h)
	switch why {
	case reason.None:
	case reason.Method:
		return t.pass(r, why)
	default:
		return t.alone(r, w, why)
	}
	x, opts := exchange.Reading{Core: &t.k, Ctx: r.Context(), ID: id, Header: h, Saw: saw, Wants: w}, exchange.HereOnly
	if why = notStored(r, saw, w); why != reason.None {
		opts = nil // a page of any tier, or none
	}
	res, found := x.Find(opts)
	now, p := t.k.Now().UnixMilli(), res.Value
	switch {
	case found && w.Accepts(t.k.Life(p, now), now) && (why != reason.Range || p.Status == http.StatusOK):
		line, old := x.Hit(p, false, now)
		return t.respond(r, &x, p, line, old), nil
	case why != reason.None:
		return t.alone(r, w, why)
	}
	return t.ask(r, x, found)
}

// notStored returns the reason why the response to a request is not stored, or none. A stored page may
// answer such a request. Otherwise Base does, and the request goes on unchanged.
func notStored(r *http.Request, saw rules.Seen, w rules.Request) reason.Reason {
	switch {
	case r.Method == http.MethodHead:
		return reason.Head
	case w.NoStore:
		return reason.RequestNoStore
	case saw.Any(rules.SawRange):
		return reason.Range
	case saw.Any(rules.SawIfNoneMatch):
		return reason.Condition
	}
	return reason.None
}

// Purge invalidates the entry that answers r, with all its variants, only in the partition of r.
// For a request that bypasses the cache it does nothing.
func (t *Transport) Purge(ctx context.Context, r *http.Request) error {
	h, saw := lookAt(r.Header)
	id, why := t.key(r, h, saw)
	if why != reason.None {
		return nil
	}
	return t.k.Pages.Delete(ctx, id, t.k.Pages.Prefix(id+"|"))
}
