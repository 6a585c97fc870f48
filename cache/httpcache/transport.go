package httpcache

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
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
	cfg   TransportConfig
	k     exchange.Core
	known address.Known
}

// NewTransport returns the transport that cfg describes. Its error names every fault of cfg.
func NewTransport(cfg TransportConfig) (*Transport, error) {
	if err := cfg.defaults(); err != nil {
		return nil, fmt.Errorf("httpcache: new transport: %w", err)
	}
	t := &Transport{cfg: cfg, known: address.Known{Seed: maphash.MakeSeed()}, k: exchange.Core{
		Tiers:  cfg.Tiers,
		Space:  key.Space{Tenant: cfg.Tenant, Namespace: cfg.Namespace},
		Rules:  rules.Cache{Shared: cfg.Shared, Fallback: cfg.Fallback.rule()},
		Hashed: true, Keep: cfg.Keep, MaxBody: cfg.MaxBody, Now: cfg.Now, Logger: cfg.Logger,
	}}
	if err := t.k.Open(cfg.Name, cfg.policy(), cfg.Codec); err != nil {
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
	if now := t.k.Now().UnixMilli(); ok && x.Wants.Accepts(t.k.Life(res.Value, now), now) {
		line, old := x.Hit(res.Value, false, now)
		return t.respond(r, &x, res.Value, line, old), nil
	}
	return t.ask(r, x, ok)
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

// pass lets Base answer. It invalidates what an unsafe request may have changed.
func (t *Transport) pass(r *http.Request, why reason.Reason) (*http.Response, error) {
	t.k.Stats.Bypass(why)
	resp, err := t.cfg.Base.RoundTrip(r)
	if err != nil || resp == nil {
		return resp, err
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.Header.Add("Cache-Status", t.k.Lines.Passed(why))
	if why == reason.Method && resp.StatusCode >= 200 && resp.StatusCode < 400 && !rules.Safe(r.Method) {
		t.k.Wrote(exchange.Write{
			Ctx: context.WithoutCancel(r.Context()), Host: address.HostOf(r), Path: cmp.Or(r.URL.Path, "/"),
			Line: r.URL.RequestURI(), Scheme: r.URL.Scheme,
		}, resp.Header)
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
	return t.k.Pages.Delete(ctx, id, t.k.Pages.Prefix(id+"|"))
}

// Stats returns the numbers so far. They are read one by one, not in one snapshot.
func (t *Transport) Stats() Stats { return statsOf(&t.k.Stats) }

// Close waits until all shared requests have ended, or until ctx ends. Call it when no more
// requests come and all bodies are closed. Base and Tiers stay open.
func (t *Transport) Close(ctx context.Context) error {
	return t.k.Close(ctx, "requests")
}

// CloseIdleConnections calls the method of Base, if it has one. http.Client calls it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.cfg.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
