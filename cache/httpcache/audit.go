package httpcache

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
)

// An audit of a page renders it again, in the background, and no client gets the response. The handler
// sees a request that is made only from the key and from what the page varies on: what it answers to one client
// says nothing of the page of the others. The coding of a page is not audited, because it is made of the page.

// Audit is load for an audit. It returns no page if the handler of Pages now answers with something that
// ends the page. If the response does not show what the page is now, for example because it is an
// error, the audit fails. With Shared that is so for every response that may not be stored.
func (x *handling) Audit(ctx context.Context) (*page.Page, error) {
	c := x.c
	c.k.Running.Add(1) // before the look at closing: Close waits for what it does not stop
	defer c.k.Running.Add(-1)
	hit := x.Found.Load()
	if hit == nil || c.k.Closing.Load() {
		cache.Filling(ctx).NoStore()
		return nil, nil
	}
	y := &handling{c: c, next: x.next, t: x.t, req: x.req, audited: hit}
	y.Source, y.Client.Ctx, y.Outer = y, ctx, x.Outer
	y.Reading = exchange.Reading{Core: x.Core, Ctx: ctx, ID: x.ID, Variant: x.Variant, Header: c.wearing(http.Header{}, hit), Wants: x.Wants}
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
	case c.k.Until && (n.Page == nil || v.Fate == record.Share) && y.Outdates(&n.Msg, v.Why):
		return nil, nil
	}
	cache.Filling(ctx).NoStore()
	return nil, nil
}

// wearing returns h with the values that select the page p.
func (c *Cache) wearing(h http.Header, p *page.Page) http.Header {
	if p.Selects(h, c.k.Hashed) {
		return h
	}
	h = h.Clone()
	for _, f := range p.Vary {
		if h[f.Name] = slices.Clone(f.Values); strings.Join(f.Values, "") == "" {
			delete(h, f.Name)
		}
	}
	return h
}
