package page

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Stands reports whether a 304 with header h can be about the page: it must name the page's validator
// or none (RFC 9111 §4.3.4). The date of a page with an ETag may be a new one, because the origin
// compared the ETag.
func (p *Page) Stands(h http.Header) bool {
	if own := p.Get("Etag"); own != "" {
		tag := h.Get("Etag")
		return tag == "" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(own, "W/")
	}
	at, own := h.Get("Last-Modified"), p.Get("Last-Modified")
	return at == "" || own == "" || at == own
}

// Heads reports whether the header of a successful HEAD can be of the page, as far as it says (RFC 9111 §4.3.5).
// Another content coding has other validators.
func (p *Page) Heads(h http.Header) bool {
	if p.Status != http.StatusOK || h.Get("Content-Encoding") != p.Get("Content-Encoding") {
		return true
	}
	if tag := h.Get("Etag"); tag != "" {
		if strings.TrimPrefix(tag, "W/") != strings.TrimPrefix(p.Get("Etag"), "W/") {
			return false
		}
	} else if at := h.Get("Last-Modified"); at != "" && at != p.Get("Last-Modified") {
		return false
	}
	n, own := h.Get("Content-Length"), p.Get("Content-Length")
	return n == "" || own == "" || n == own
}

// Validated reports whether the page has a validator.
func (p *Page) Validated() bool { return p.Get("Etag") != "" || p.Get("Last-Modified") != "" }

// Ask makes a request conditional on the validators of the page (RFC 9111 §4.3.1). It reports false if
// there are none.
func (p *Page) Ask(h http.Header) (ok bool) {
	if tag := p.Get("Etag"); tag != "" {
		h["If-None-Match"], ok = []string{tag}, true
	}
	if at := p.Get("Last-Modified"); at != "" {
		h["If-Modified-Since"], ok = []string{at}, true
	}
	return ok
}

// Renewed returns the page with the headers of a 304 in place of its own, except for those about
// the body (RFC 9111 §3.2). Both pages share the body. A weak validator stays weak: the strong one of
// the 304 is of other bytes. The 304 was asked for at one time and came at the other.
func (p *Page) Renewed(by *rules.Cache, h http.Header, asked, received time.Time) (n *Page, life rules.Lifetime) {
	n = p.same()
	rules.DropHopByHop(h)
	if !rules.Has(h, "Date") {
		h["Date"] = dateOf(received)
	}
	for name, values := range h {
		switch name {
		case "Content-Length", "Content-Encoding", "Content-Range", "Content-Type", "Set-Cookie":
			continue
		}
		if stays := name == "Etag" && strings.HasPrefix(p.Get(name), "W/"); !stays && !strings.HasPrefix(name, http.TrailerPrefix) {
			n.put(name, values...)
		}
	}
	life = by.Lifetime(n.Status, n.HeaderMap(), asked, received)
	n.Dated(received, &life)
	return n, life
}

// HeaderMap returns a copy of the page's header.
func (p *Page) HeaderMap() http.Header {
	h := make(http.Header, len(p.Header))
	p.Fill(h, nil, "", "")
	return h
}

// Dated sets the times of a page that says how long it lives: when it was made, as far as known,
// and how long it is fresh.
func (p *Page) Dated(at time.Time, life *rules.Lifetime) {
	p.Checked = at.UnixMilli()
	p.Made = at.Add(-life.Age).UnixMilli()
	p.Fresh = max(life.Total, 0).Milliseconds()
	p.Stale, p.IfError = life.Stale.Milliseconds(), life.StaleIfError.Milliseconds()
	p.Asks, p.Strict, p.Immutable = life.Asks, life.Strict, life.Immutable
	p.drop("Age")
	if p.Get("Date") == "" {
		p.put("Date", dateOf(at)...)
	}
}

// date is the header Date of one second.
type date struct {
	second int64
	values []string // does not change, so pages share it
}

// dated is the last date. Most pages of a second share it.
var dated atomic.Pointer[date]

func dateOf(at time.Time) []string {
	d := dated.Load()
	if d == nil || d.second != at.Unix() {
		d = &date{at.Unix(), []string{at.UTC().Format(http.TimeFormat)}}
		dated.Store(d)
	}
	return d.values
}

// staleUntil returns until when the page may be served while it is refreshed, in Unix
// milliseconds.
func (p *Page) staleUntil() int64 { return p.usableFor(p.Stale) }

// InsteadUntil returns until when the page may replace a failure.
func (p *Page) InsteadUntil() int64 { return p.usableFor(max(p.IfError, p.Stale)) }

func (p *Page) usableFor(stale int64) int64 {
	if p.Asks || p.Strict {
		return 0
	}
	return p.Made + p.Fresh + stale
}

// StandsIn reports whether the page, by its own times, may be served now although it is stale: while it is refreshed,
// or in place of a failure.
func (p *Page) StandsIn(now int64) bool { return max(p.IfError, p.Stale) > 0 && now < p.InsteadUntil() }

// Refreshes reports whether the page, by its own times, may be served now while it is refreshed.
func (p *Page) Refreshes(now int64) bool { return p.Stale > 0 && now < p.staleUntil() }

// Shareable reports whether clients that waited for the page may have it, although it may be stale when
// it comes. It leaves its lifetime to the cache, or names one above zero. With no-cache or max-age=0 each
// client needs a page that was asked for after the client came (RFC 9111 §4).
func (p *Page) Shareable() bool {
	return !p.Asks && (p.Fresh > 0 || p.Get("Cache-Control") == "" && p.Get("Expires") == "" && p.Get("Pragma") == "")
}
