package httpcache

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/key"
)

// Transport is an http.RoundTripper that stores responses, by the rules of RFC 9111 for clients.
// Make one with NewTransport and put it into an http.Client. All methods may be called
// concurrently.
//
// Callers that want the same response at the same time share one request. A caller that says
// no-cache joins only a request that was not sent yet.
//
// The first caller reads the body as it comes. The others get the body when it is whole. If it
// turns out too long, cut short or not storable, each of them sends its own request. A caller
// that leaves, or closes the body early, does not harm another.
//
// Every response has a Cache-Status line (RFC 9211). RoundTrip returns the errors of Base as they
// are. A failure of the cache never reaches the caller: Base answers then.
type Transport struct {
	cfg TransportConfig
	core
	known address.Known
}

// NewTransport returns the transport that cfg describes. Its error names every fault of cfg.
func NewTransport(cfg TransportConfig) (*Transport, error) {
	if err := cfg.defaults(); err != nil {
		return nil, fmt.Errorf("httpcache: new transport: %w", err)
	}
	t := &Transport{cfg: cfg, known: address.Known{Seed: maphash.MakeSeed()}, core: core{
		tiers:  cfg.Tiers,
		space:  key.Space{Tenant: cfg.Tenant, Namespace: cfg.Namespace},
		rules:  rules.Cache{Shared: cfg.Shared, Fallback: cfg.Fallback.rule()},
		hashed: true, keep: cfg.Keep, maxBody: cfg.MaxBody, now: cfg.Now, logger: cfg.Logger,
	}}
	if err := t.open(cfg.Name, cfg.policy(), cfg.Codec); err != nil {
		return nil, fmt.Errorf("httpcache: new transport: %w", err)
	}
	return t, nil
}

// RoundTrip answers a request from the cache, or by Base. It does not change the request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	h, saw := lookAt(r.Header)
	id, why := t.key(r, h, saw)
	w := saw.Request(h)
	switch {
	case why == reason.None:
	case why != reason.Method && w.OnlyIfCached:
		if r.Body != nil {
			_ = r.Body.Close() // nobody reads it
		}
		return t.notHere(r), nil
	default:
		return t.pass(r, why)
	}
	x := reading{k: &t.core, ctx: r.Context(), id: id, h: h, saw: saw, w: w}
	switch {
	case r.Method == http.MethodHead:
		return t.fromFresh(r, x, reason.Head)
	case x.w.NoStore:
		return t.fromFresh(r, x, reason.RequestNoStore)
	case saw.Any(rules.SawRange):
		return t.fromFresh(r, x, reason.Range)
	case saw.Any(rules.SawIfNoneMatch):
		return t.fromFresh(r, x, reason.Condition)
	}
	res, ok := x.find(hereOnly)
	if now := t.now().UnixMilli(); ok && x.w.Accepts(t.life(res.Value, now), now) {
		line, old := x.hit(res.Value, false, now)
		return t.respond(r, &x, res.Value, line, old), nil
	}
	return t.ask(r, x, ok)
}

// fromFresh answers by a fresh page of any tier, or passes the request on unchanged. Why is the
// reason why such a request is not stored.
func (t *Transport) fromFresh(r *http.Request, x reading, why reason.Reason) (*http.Response, error) {
	res, ok := x.find(nil)
	now := t.now().UnixMilli()
	switch p := res.Value; {
	case ok && x.w.Accepts(t.life(p, now), now) && (why != reason.Range || p.Status == http.StatusOK):
		line, old := x.hit(p, false, now)
		return t.respond(r, &x, p, line, old), nil
	case x.w.OnlyIfCached:
		return t.notHere(r), nil
	}
	return t.pass(r, why)
}

// pass lets Base answer. It invalidates what an unsafe request may have changed.
func (t *Transport) pass(r *http.Request, why reason.Reason) (*http.Response, error) {
	t.stats.bypass(why)
	resp, err := t.cfg.Base.RoundTrip(r)
	if err != nil || resp == nil {
		return resp, err
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.Header.Add("Cache-Status", t.lines.Passed(why))
	if why == reason.Method && resp.StatusCode >= 200 && resp.StatusCode < 400 && !rules.Safe(r.Method) {
		t.wrote(write{context.WithoutCancel(r.Context()), address.HostOf(r), cmp.Or(r.URL.Path, "/"), r.URL.RequestURI(), r.URL.Scheme}, resp.Header)
	}
	return resp, nil
}

// Purge invalidates the entry that answers r, with all its variants, only in the partition of r.
// For a request that bypasses the cache it does nothing.
func (t *Transport) Purge(ctx context.Context, r *http.Request) error {
	h, saw := lookAt(r.Header)
	id, why := t.key(r, h, saw)
	if why != reason.None {
		return nil
	}
	return t.pages.Delete(ctx, id, t.pages.Prefix(id+"|"))
}

// Stats returns the numbers so far. They are read one by one, not in one snapshot.
func (t *Transport) Stats() Stats { return t.stats.read() }

// Close waits until all shared requests have ended, or until ctx ends. Call it when no more
// requests come and all bodies are closed. Base and Tiers stay open.
func (t *Transport) Close(ctx context.Context) error {
	return t.close(ctx, "requests")
}

// CloseIdleConnections calls the method of Base, if it has one. http.Client calls it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.cfg.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
