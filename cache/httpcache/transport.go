package httpcache

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
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
	x := exchange.Reading{Core: &t.k, Ctx: r.Context(), ID: id, Header: h, Saw: saw, Wants: w}
	var res cache.Result[*page.Page]
	var found bool
	if why = notStored(r, saw, w); why == reason.None {
		res, found = x.Find(exchange.HereOnly)
	} else { // a page of any tier, or none
		res, found = x.Stored(w.MaxStale < 0)
	}
	now, p := t.k.Now().UnixMilli(), res.Value
	switch {
	case found:
	case why == reason.None, w.NoStore, w.OnlyIfCached:
		p = nil
	default:
		p = x.Old()
	}
	expired := found && res.Stale && now < p.Made+p.Fresh // by Tiers.Expire, not by its own lifetime
	answers := p != nil && (why != reason.Range || p.Status == http.StatusOK)
	switch {
	case found && answers && !expired && w.Accepts(t.k.Life(p, now), now):
		line, old := x.Hit(p, false, res.FreshFor, now)
		return t.respond(r, &x, p, line, old), nil
	case why == reason.None:
	case answers && !w.NoStore && !w.Restricts() && !w.OnlyIfCached && p.StandsIn(now): // as of a GET
	case p != nil && why == reason.Head:
		return t.head(r, &x, p)
	default:
		return t.alone(r, w, why)
	}
	limited := w.Restricts() || w.MaxStale >= 0 && found && now < p.InsteadUntil() // it could be served stale
	return t.ask(r, x, w.NoCache || found && limited)
}

// notStored returns the reason why the response to a request is not stored, or none. A stored page may
// answer such a request, or a stale one that a GET would get. Otherwise Base does, and the request goes on unchanged.
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

// lookAt returns h and what is in it. If a name is not canonical, it returns a canonical copy: a
// credential in any spelling is a credential.
func lookAt(h http.Header) (http.Header, rules.Seen) {
	saw := rules.Look(h)
	if saw.Any(rules.SawOddName) {
		h = rules.Canonical(h)
		saw = rules.Look(h)
	}
	return h, saw
}

// key returns the key of the entry that answers a request with header h, or the reason why the
// request bypasses the cache. The key holds the digest of the partition, the URL, and the digest
// of the query. So it shows no credential and no parameter.
func (t *Transport) key(r *http.Request, h http.Header, saw rules.Seen) (id string, why reason.Reason) {
	u := r.URL
	switch {
	case r.Method != http.MethodGet && r.Method != "" && r.Method != http.MethodHead:
		return "", reason.Method
	case r.Body != nil && r.Body != http.NoBody:
		return "", reason.Body
	case u == nil || u.Opaque != "" || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", reason.Host
	case saw.Any(rules.SawUpgrade) || saw.Any(rules.SawConnection) && rules.Lists(h["Connection"], "upgrade"):
		return "", reason.Upgrade
	case saw.Any(rules.SawIfMatch):
		return "", reason.Precondition
	}
	var room [512]byte
	parts := t.appendPartition(room[:0], r, h, saw)
	slot := t.known.Slot(u)
	if k := slot.Load(); k != nil && k.URL == *u && k.Host == r.Host && k.Partition == string(parts) {
		return k.ID, reason.None
	}
	if id, why = t.spell(r, parts); why == reason.None && len(parts)+len(u.RawQuery)+len(u.Fragment) <= maxKnown {
		slot.Store(&address.KnownKey{URL: *u, Host: r.Host, Partition: string(parts), ID: id})
	}
	return id, why
}

// maxKnown limits what is remembered of a request besides what its key limits, in bytes.
const maxKnown = 512

// spell spells the key of a request in a partition.
func (t *Transport) spell(r *http.Request, partition []byte) (id string, why reason.Reason) {
	id, ok := address.URLKey(r, partition)
	switch {
	case !ok:
		return "", reason.Host
	case !t.k.Fits(id, address.VariantLen):
		return "", reason.KeyLength
	}
	return id, reason.None
}

// appendPartition appends what separates the responses to r from others.
func (t *Transport) appendPartition(parts []byte, r *http.Request, h http.Header, saw rules.Seen) []byte {
	part := func(s string) {
		parts = binary.AppendUvarint(parts, uint64(len(s)))
		parts = append(parts, s...)
	}
	switch {
	case t.cfg.Partition != nil:
		parts = append(parts, t.cfg.Partition(r)...)
	case !t.cfg.Shared:
		for i, name := range t.cfg.Credentials {
			if i < usual && !saw.Any(rules.SawAuthorization<<i) {
				continue
			}
			for _, v := range h[name] {
				parts = binary.AppendUvarint(parts, uint64(i))
				part(v)
			}
		}
		if user := r.URL.User; user != nil {
			parts = binary.AppendUvarint(parts, uint64(len(t.cfg.Credentials)))
			part(user.String())
		}
	}
	return parts
}
