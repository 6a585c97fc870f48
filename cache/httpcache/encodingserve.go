package httpcache

import (
	"context"
	"net/http"
	"time"
	"weak"

	"github.com/twofold-go/twofold/cache"
)

// Each coding of a page is an entry of its own beside that of the plain page, whose
// loader reads the plain entry through the cache. So it inherits the tags, and what
// invalidates the plain page invalidates it. A request always reads the plain entry
// first, and takes only the coding of the very page that is there. So nothing needs to
// be known here of lifetimes, of variants and of what clients ask of a page's age.
//
// The page remembers its codings weakly, to spare the second look-up: it is the local
// tier that keeps them, and counts them.

// coding is a page in a coding as its plain page remembers it.
type coding = weak.Pointer[page]

// inCoding returns what is sent for a page that was fetched: the page in the coding that
// the client prefers, or as it is.
func (x *exchange) inCoding(res cache.Result[*page], r *http.Request) *page {
	c, p := x.c, res.Value
	if !p.Encodes || p.only != nil {
		return p
	}
	at := preferred(r.Header["Accept-Encoding"], c.cfg.Encodings)
	if at < 0 {
		return p
	}
	e := &c.cfg.Encodings[at]
	if m := p.codings[e.kind].Load(); m != nil {
		if n := m.Value(); n != nil {
			return n.or(p)
		}
	}
	if p.Asks || res.Stale || c.left(p) <= 0 {
		if res.Source == cache.Load && (!x.led.Load() || reason(x.why.Load()) != none) {
			return p // it is not stored
		}
		return p.encodedOnce(e, r.Header)
	}
	n := x.codingOf(p, e) // of what is not stored there is none
	if n == nil {
		return p
	}
	m := weak.Make(n)
	p.codings[e.kind].Store(&m)
	return n.or(p)
}

// encodedOnce returns a page in a coding for one client. The page is not fresh, so there
// is no entry to keep that beside it.
func (p *page) encodedOnce(e *Encoding, request http.Header) *page {
	if n := p.inCoding(e.kind); n.notModified(request) {
		return n // without a body, which is not sent
	}
	return p.encoded(e, nil).or(p)
}

// codingOf returns the entry of a page in a coding, which it makes if it is not there. It
// returns nil when the plain entry is gone or is another page, and when there are too
// many loads.
func (x *exchange) codingOf(p *page, e *Encoding) *page {
	c := x.c
	id := x.key + "|@encoding=" + e.kind.String() // no header's name has an "@"
	if !c.fits(id) {
		return nil
	}
	load := func(ctx context.Context, _ string) (*page, error) { return x.encode(ctx, e) }
	for _, opts := range [][]cache.Option{{cache.AllowStale(false)}, {cache.MaxAge(0)}} { // that of an older page is made anew
		res, err := c.pages.Fetch(x.ctx, id, load, opts...)
		if err != nil || res.Value == nil || res.Value.refused != none {
			return nil
		}
		if res.Value.isCodingOf(p, e.kind) {
			return res.Value
		}
	}
	return nil
}

// encode is the loader of a coding.
func (x *exchange) encode(ctx context.Context, e *Encoding) (*page, error) {
	c, f := x.c, cache.Filling(ctx)
	plain, err := c.pages.Fetch(ctx, x.key, nil, cache.AllowStale(false))
	if err != nil {
		return nil, err
	}
	p := plain.Value
	if p == nil || p.refused != none || !p.Encodes || c.left(p) <= 0 {
		f.NoStore()
		return nil, nil
	}
	f.SetStale(0)
	f.SetStaleIfError(0)
	switch {
	case !c.cfg.until():
		f.SetTTL(c.left(p))
		f.SetKeep(c.cfg.Keep) // a renewed page may have the same body
	case c.lines.ttl > 0:
		f.SetTTL(c.lines.ttl - plain.Age)
	}
	old, _ := cache.Previous[*page](ctx)
	return p.encoded(e, old), nil
}

// left returns for how long a page is fresh yet, by what it says.
func (c *Cache) left(p *page) time.Duration {
	if c.cfg.until() {
		return maxLifetime
	}
	return time.Duration(p.Made+p.Fresh-c.cfg.Now().UnixMilli()) * time.Millisecond
}
