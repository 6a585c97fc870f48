package httpcache

import (
	"context"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// confirm makes a page of the old page and of the 304 that confirms it (RFC 9111 §3.2). Both
// pages share the body.
func (x *trip) confirm(ctx context.Context, e *exchanged, prev *page) (*page, error) {
	_ = e.resp.Body.Close()
	e.cancel()
	h := make(http.Header, len(prev.Header))
	for _, f := range prev.Header {
		if f.Name != "Date" { // a 304 without Date was generated on arrival
			h[f.Name] = f.Values
		}
	}
	rules.DropHopByHop(e.h)
	for name, values := range e.h {
		switch name {
		case "Content-Length", "Content-Encoding", "Content-Range", "Content-Type", "Set-Cookie":
		default:
			h[name] = values
		}
	}
	life := x.t.rules.Lifetime(prev.Status, h, e.asked, e.received)
	p := x.t.page(prev.Status, h, prev.Body)
	p.Vary = prev.Vary
	why := withheld(&life, x.t.cfg.Shared, x.h)
	if rules.Has(e.h, "Vary") && why == none {
		var on []string
		on, why = x.varies(h)
		p.Vary = choices(x.h, on)
	}
	if c := e.h["Set-Cookie"]; len(c) > 0 {
		x.cookies.Store(&c)
	}
	if why != none {
		p.dated(e.received, &life)
		x.own.Store(p)
		return x.refused(ctx, e, prev, why) // other callers send their own requests
	}
	cache.Filling(ctx).DependOnPrevious()
	return x.keep(ctx, p, e, &life), nil
}

// keep tells the load how long a new page lives, and which tag invalidates it.
func (x *trip) keep(ctx context.Context, p *page, e *exchanged, life *rules.Lifetime) *page {
	p.dated(e.received, life)
	p.Immutable = life.Immutable
	p.lives(cache.Filling(ctx), x.t.cfg.Now().UnixMilli(), x.t.cfg.Keep)
	at := *x.req.URL
	at.Host = hostOf(x.req)
	cache.Depend(ctx, x.t.tag(&at))
	if cache.Filling(ctx).Stores() {
		x.t.stats.of(p.Format).stored.Add(1)
	} else {
		x.t.stats.refuse(byLoad)
	}
	return p
}
