package httpcache

import (
	"context"
	"net/http"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
)

// An audit of a page renders it again, in the background, for the request of the hit. The handler
// sees the same request as in a load, and no client gets the response. The coding of a page is not
// audited, because it is made of the page.

// Audit is load for an audit. It returns no page if the handler now answers with something that
// ends the page. If the response does not show what the page is now, for example because it is an
// error, the audit fails.
func (x *handling) Audit(ctx context.Context) (*page.Page, error) {
	c := x.c
	c.k.Running.Add(1) // before the look at closing: Close waits for what it does not stop
	defer c.k.Running.Add(-1)
	hit := x.Found.Load()
	if hit == nil || c.k.Closing.Load() {
		cache.Filling(ctx).NoStore()
		return nil, nil
	}
	y := &handling{c: c, next: x.next, t: x.t, req: x.req}
	y.Source, y.Client.Ctx, y.Outer = y, ctx, x.Outer
	y.Reading = exchange.Reading{Core: x.Core, Ctx: ctx, ID: x.ID, Variant: x.Variant, Header: c.wearing(x.Header, hit), Wants: x.Wants}
	if !c.k.Until {
		y.req.Header = c.wearing(x.req.Header, hit)
	}
	defer y.Returned() // the audit has a turn among MaxLoads
	n := y.Start(ctx, &exchange.Previous{}, true)
	if n == nil || !n.Wait(ctx) {
		return nil, ctx.Err()
	}
	switch v := n.Verdict; {
	case n.Err != nil:
		return nil, n.Err
	case v.Fate == record.Store && n.Page != nil:
		return n.Page, nil
	case (n.Page == nil || v.Fate == record.Share) && y.Outdates(&n.Msg, v.Why):
		return nil, nil
	}
	cache.Filling(ctx).NoStore()
	return nil, nil
}

// wearing returns h with the values that select the page p. The first entry of a URL may be for other
// clients, and then its Vary leads the client of the hit to a variant.
func (c *Cache) wearing(h http.Header, p *page.Page) http.Header {
	if p.Selects(h, c.k.Hashed) {
		return h
	}
	h = h.Clone()
	for _, f := range p.Vary {
		if h[f.Name] = f.Values; strings.Join(f.Values, "") == "" {
			delete(h, f.Name)
		}
	}
	return h
}
