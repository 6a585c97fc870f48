package httpcache

import (
	"net/http"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// withholds returns the reason why a response that is not crossed must not be stored (RFC 9111 §3), or
// none and the request headers that select it. It answers a request with header asked. The entry is
// that of v.
func (k *core) withholds(v *address.Variant, status int, h, asked http.Header, life *rules.Lifetime, more moreRules) (names []string, why reason.Reason) {
	shared := k.rules.Shared
	switch {
	case status < 200, status == http.StatusNotModified:
		return nil, reason.Status
	case status == http.StatusPartialContent:
		return nil, reason.Partial
	case life.NoStore:
		return nil, reason.NoStore
	case shared && life.Private:
		return nil, reason.Private
	case life.Bad:
		return nil, reason.BadCacheControl
	case shared && rules.Has(asked, "Authorization") && !life.Authorized:
		return nil, reason.Credentials
	}
	encoded := rules.Has(h, "Content-Encoding")
	var keyed func(string) bool
	if encoded || rules.Has(h, "Vary") {
		keyed = more.keyed
	}
	names, ok := rules.Learned(h, encoded, keyed)
	switch {
	case !ok, !v.Covers(names):
		return nil, reason.Vary
	case life.Usable(status, h):
		return names, reason.None
	case life.Asks:
		return nil, reason.NoCache
	}
	return nil, reason.Silence
}

// stands reports whether a 304 with header h can be about the page: it must name the page's validator
// or none (RFC 9111 §4.3.3).
func (p *page) stands(h http.Header) bool {
	tag, own := h.Get("Etag"), p.Get("Etag")
	return tag == "" || own == "" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(own, "W/")
}

// validated reports whether the page has a validator.
func (p *page) validated() bool { return p.Get("Etag") != "" || p.Get("Last-Modified") != "" }

// ask makes a request conditional on the validators of the page (RFC 9111 §4.3.1). It reports false if
// there are none.
func (p *page) ask(h http.Header) (ok bool) {
	if tag := p.Get("Etag"); tag != "" {
		h["If-None-Match"], ok = []string{tag}, true
	}
	if at := p.Get("Last-Modified"); at != "" {
		h["If-Modified-Since"], ok = []string{at}, true
	}
	return ok
}

// renewed returns the page with the headers of a 304 in place of its own, except for those about
// the body (RFC 9111 §3.2). Both pages share the body. The 304 was asked for at one time and came at
// the other.
func (k *core) renewed(p *page, h http.Header, asked, received time.Time) (n *page, life rules.Lifetime) {
	n = p.same()
	rules.DropHopByHop(h)
	if !rules.Has(h, "Date") {
		h.Set("Date", received.UTC().Format(http.TimeFormat))
	}
	for name, values := range h {
		switch name {
		case "Content-Length", "Content-Encoding", "Content-Range", "Content-Type", "Set-Cookie":
			continue
		}
		if !strings.HasPrefix(name, http.TrailerPrefix) {
			n.put(name, values...)
		}
	}
	life = k.rules.Lifetime(n.Status, n.header(), asked, received)
	n.dated(received, &life)
	return n, life
}

// header returns a copy of the page's header.
func (p *page) header() http.Header {
	h := make(http.Header, len(p.Header))
	p.fill(h, nil, 0)
	return h
}

// dated sets the times of a page that says how long it lives: when it was made, as far as known,
// and how long it is fresh.
func (p *page) dated(at time.Time, life *rules.Lifetime) {
	p.Checked = at.UnixMilli()
	p.Made = at.Add(-life.Age).UnixMilli()
	p.Fresh = max(life.Total, 0).Milliseconds()
	p.Stale, p.IfError = life.Stale.Milliseconds(), life.StaleIfError.Milliseconds()
	p.Asks, p.Strict, p.Immutable = life.Asks, life.Strict, life.Immutable
	p.drop("Age")
	if p.Get("Date") == "" {
		p.put("Date", at.UTC().Format(http.TimeFormat))
	}
}

// lives tells a load that ends now how long the page lives, and how long it is kept after that. The page
// may be older than the load.
func (k *core) lives(f *cache.Fill, p *page, keep time.Duration) {
	now := k.now().UnixMilli()
	var fresh, stale, instead int64
	if !p.Asks {
		fresh = p.Made + p.Fresh - now
		late := min(fresh, 0)
		stale = max(p.Stale+late, 0)
		instead = max(p.IfError+late-stale, 0)
	}
	f.SetTTL(time.Duration(max(fresh, 0)) * time.Millisecond)
	f.SetStale(time.Duration(stale) * time.Millisecond)
	f.SetStaleIfError(time.Duration(instead) * time.Millisecond)
	f.SetKeep(keep)
}

// staleUntil returns until when the page may be served while it is refreshed, in Unix
// milliseconds. insteadUntil returns until when it may replace a failure.
func (p *page) staleUntil() int64 { return p.usableFor(p.Stale) }

func (p *page) insteadUntil() int64 { return p.usableFor(max(p.IfError, p.Stale)) }

func (p *page) usableFor(stale int64) int64 {
	if p.Asks || p.Strict {
		return 0
	}
	return p.Made + p.Fresh + stale
}

// refreshes reports whether a load that begins now is a refresh of the page: our client accepts the
// page, and has it.
func (p *page) refreshes(now int64) bool { return p.Stale > 0 && now < p.staleUntil() }

// refusal is the error of a refresh whose response may not be stored. The old page stays.
type refusal struct{ why reason.Reason }

func (e *refusal) Error() string { return "httpcache: a refresh was refused: " + e.why.String() }
