package httpcache

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
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
// turns out too long, cut short, not storable or not reusable, each of them sends its own request. A caller
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
	if err := t.k.Open(cmp.Or(cfg.Name, DefaultName), cfg.policy(), cfg.Codec); err != nil {
		return nil, fmt.Errorf("httpcache: new transport: %w", err)
	}
	return t, nil
}

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
