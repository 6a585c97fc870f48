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
	switch {
	case why == reason.None:
	case why != reason.Method && w.OnlyIfCached:
		if r.Body != nil {
			_ = r.Body.Close() // Base does not get it
		}
		return t.notHere(r), nil
	default:
		return t.pass(r, why)
	}
	x := exchange.Reading{Core: &t.k, Ctx: r.Context(), ID: id, Header: h, Saw: saw, Wants: w}
	switch {
	case r.Method == http.MethodHead:
		return t.fromFresh(r, x, reason.Head)
	case x.Wants.NoStore:
		return t.fromFresh(r, x, reason.RequestNoStore)
	case saw.Any(rules.SawRange):
		return t.fromFresh(r, x, reason.Range)
	case saw.Any(rules.SawIfNoneMatch):
		return t.fromFresh(r, x, reason.Condition)
	}
	res, ok := x.Find(exchange.HereOnly)
	now, p := t.k.Now().UnixMilli(), res.Value
	if ok && x.Wants.Accepts(t.k.Life(p, now), now) {
		line, old := x.Hit(p, false, now)
		return t.respond(r, &x, p, line, old), nil
	}
	limited := x.Wants.Restricts() || ok && x.Wants.MaxStale >= 0 && now < p.InsteadUntil() // it could be served stale
	return t.ask(r, x, x.Wants.NoCache || ok && limited)
}

// fromFresh answers by a fresh page of any tier, or passes the request on unchanged. Why is the
// reason why such a request is not stored.
func (t *Transport) fromFresh(r *http.Request, x exchange.Reading, why reason.Reason) (*http.Response, error) {
	res, ok := x.Find(nil)
	now := t.k.Now().UnixMilli()
	switch p := res.Value; {
	case ok && x.Wants.Accepts(t.k.Life(p, now), now) && (why != reason.Range || p.Status == http.StatusOK):
		line, old := x.Hit(p, false, now)
		return t.respond(r, &x, p, line, old), nil
	case x.Wants.OnlyIfCached:
		return t.notHere(r), nil
	}
	return t.pass(r, why)
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
