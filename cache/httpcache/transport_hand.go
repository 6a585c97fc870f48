package httpcache

import (
	"context"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// hand gives the response to the caller, if the caller still waits. It sets the body first. After
// that nothing reads the response, because the caller may change it.
func (x *trip) hand(e *exchanged, set func(), why reason) bool {
	if e.behind || !x.take() {
		return false
	}
	set()
	resp := e.resp
	e.resp = nil // from here on it is the caller's
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	m := miss{stale: x.had.Load(), vary: x.v != nil, stored: why == none, detail: why} // the caller sees the status
	resp.Header.Add("Cache-Status", x.t.lines.miss(m))
	x.t.stats.of(formatOf("", resp.Header)).misses.Add(1)
	x.handed <- resp
	return true
}

// refuse ends a load whose response is for our caller only.
func (x *trip) refuse(ctx context.Context, e *exchanged, prev *page, why reason) (*page, error) {
	if !x.hand(e, func() { e.resp.Body = newOwnBody(x.ctx, e, x.leave) }, why) {
		e.drop()
	}
	return x.refused(ctx, e, prev, why)
}

// refused returns the result of a load whose response is not stored.
func (x *trip) refused(ctx context.Context, e *exchanged, prev *page, why reason) (*page, error) {
	x.t.stats.refuse(why)
	if x.v != nil && why == byVary { // the names must be learned again
		return x.t.refused(ctx, x.id, true, false, x.stored, e.asked, why)
	}
	mine := x.t.cfg.Shared && rules.Has(x.h, "Authorization")
	gone := prev != nil && why.whole() && rules.Outdates(e.status, mine)
	return x.t.refused(ctx, x.at(), gone, e.behind, x.stored, e.asked, why)
}

// confirm makes a page of the old page and of the 304 that confirms it.
func (x *trip) confirm(ctx context.Context, e *exchanged, prev *page) (*page, error) {
	e.drop()
	if c := e.h["Set-Cookie"]; len(c) > 0 {
		x.cookies.Store(&c)
	}
	p, life := x.t.renewed(prev, e.h, e.asked, e.received)
	names, why := x.t.withholds(x.v, p.Status, p.header(), x.h, &life, nil)
	if why != none {
		x.own.Store(p)
		return x.refused(ctx, e, prev, why) // other callers send their own requests
	}
	p.Vary = choices(x.h, names, true)
	cache.Filling(ctx).DependOnPrevious()
	return x.keep(ctx, p), nil
}

// keep ends the load with a page that is stored.
func (x *trip) keep(ctx context.Context, p *page) *page {
	x.t.lives(ctx, p, x.t.keep)
	at := *x.req.URL
	at.Host = hostOf(x.req)
	x.t.kept(ctx, p, x.t.tag(&at))
	return p
}
