package httpcache

import (
	"context"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/coding"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/policy"
)

// Each coding of a page is an entry beside the entry of the plain page. Its loader reads the
// plain entry through the cache, so it inherits the tags: what invalidates the plain page
// invalidates the coding. A request always reads the plain entry first, and takes only a coding
// of exactly that page. So lifetimes, variants and limits on age need no code here.
//
// The page remembers its codings weakly, to save the second lookup. The local tier keeps them and
// counts them.

// codingOnly are the options of a read of a coding.
var codingOnly = []cache.Option{cache.Fresh(), cache.With(policy.Patch{Audit: new(float64)})}

// inCoding returns the page to send for res: in the coding that the client prefers, or plain.
func (x *handling) inCoding(res cache.Result[*page.Page], r *http.Request) *page.Page {
	c, p := x.c, res.Value
	if x.Own.Load() == p {
		return p
	}
	n, e := c.known(p, r.Header)
	if e == nil {
		return n
	}
	if p.Asks || res.Stale || c.left(p) <= 0 {
		if res.Source == cache.Load && (!x.Led.Load() || reason.Reason(x.Why.Load()) != reason.None) {
			return p // the page is not stored
		}
		return p.EncodedOnce(e, r.Header)
	}
	if n = x.codingOf(p, e); n == nil { // the page is not stored
		return p
	}
	p.Remember(n, e.Kind)
	return n.Or(p)
}

// known returns the page to send to a client, or the coding that it must be made in.
func (c *Cache) known(p *page.Page, h http.Header) (*page.Page, *coding.Coding) {
	if !p.Encodes {
		return p, nil
	}
	at := coding.Preferred(h["Accept-Encoding"], c.k.Encodings)
	if at < 0 {
		return p, nil
	}
	e := &c.k.Encodings[at]
	if n := p.Coded(e.Kind); n != nil {
		return n.Or(p), nil
	}
	return nil, e
}

// codingOf returns the entry of a page in a coding, and makes it if it is missing. It returns nil
// if the plain entry is gone or is another page, or if there are too many loads.
func (x *handling) codingOf(p *page.Page, e *coding.Coding) *page.Page {
	c := x.c
	id := x.At() + "|@encoding=" + e.Kind.String() // no header name has an "@"
	if !c.k.Fits(id, 0) {
		return nil
	}
	load := func(ctx context.Context, _ string) (*page.Page, error) { return x.encode(ctx, e) }
	for _, opts := range [...][]cache.Option{codingOnly, exchange.Renewed} { // replace the coding of an older page
		res, err := c.k.Pages.Fetch(x.Ctx, id, load, opts...)
		if err != nil || res.Value == nil || res.Value.Refusal() != reason.None {
			return nil
		}
		if res.Value.IsCodingOf(p, e.Kind) {
			return res.Value
		}
	}
	return nil
}

// encode is the loader of a coding.
func (x *handling) encode(ctx context.Context, e *coding.Coding) (*page.Page, error) {
	c, f := x.c, cache.Filling(ctx)
	plain, err := c.k.Pages.Fetch(ctx, x.At(), nil, exchange.FreshOnly...)
	if err != nil {
		return nil, err
	}
	p := plain.Value
	if p == nil || p.Refusal() != reason.None || !p.Encodes || c.left(p) <= 0 {
		f.NoStore()
		return nil, nil
	}
	life := cache.Lifetime{Stale: new(time.Duration), StaleIfError: new(time.Duration)}
	switch {
	case !c.cfg.pages():
		life.TTL, life.Keep = new(c.left(p)), &c.k.Keep // kept, because a refreshed page may have the same body
	default:
		life.TTL = &plain.FreshFor
	}
	f.SetLifetime(life)
	old, _ := cache.Previous[*page.Page](ctx)
	return p.Encoded(e, old), nil
}

// left returns how much longer a page is fresh, by what the page says.
func (c *Cache) left(p *page.Page) time.Duration {
	if c.cfg.pages() {
		return rules.MaxLifetime
	}
	return time.Duration(p.Made+p.Fresh-c.k.Now().UnixMilli()) * time.Millisecond
}

// Encoding is a content coding in which responses are stored beside their plain form. Gzip and
// Zstd make one; New refuses the zero Encoding. It may be used concurrently and by several
// Caches.
type Encoding struct{ by coding.Coding }

// Gzip returns the coding that every client knows, at a level from 1, the fastest, to 9, the
// smallest. Zero means the default level of gzip.
func Gzip(level int) Encoding { return Encoding{coding.Gzip(level)} }

// Zstd returns the coding of RFC 8878, at a level from 1, the fastest, to 22, the smallest. Zero
// means level 3. It is faster than gzip and smaller, and newer clients know it. Its window is at
// most 8 MiB, as RFC 9659 requires.
func Zstd(level int) Encoding { return Encoding{coding.Zstd(level)} }

// compressors returns what makes the codings of a Config.
func compressors(of []Encoding) []coding.Coding {
	all := make([]coding.Coding, len(of))
	for i, e := range of {
		all[i] = e.by
	}
	return all
}
