package httpcache

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/policy"
)

// An audit of a page renders it again, in the background, for the request of the hit. The handler
// sees the same request as in a load, and no client gets the response. The coding of a page is not
// audited, because it is made of the page.

// codingOnly are the options of a read of a coding.
var codingOnly = []cache.Option{cache.Fresh(), cache.With(policy.Patch{Audit: new(float64)})}

// audit is load for an audit. It returns no page if the handler now answers with something that
// ends the page. If the response says nothing about the page, the audit fails.
func (x *handling) audit(ctx context.Context) (*page.Page, error) {
	c := x.c
	c.running.add(1) // before the look at closing, so that Close waits for what it does not stop
	defer c.running.add(-1)
	hit := x.found.Load()
	if hit == nil || c.closing.Load() {
		cache.Filling(ctx).NoStore()
		return nil, nil
	}
	y := &handling{c: c, next: x.next, t: x.t, req: x.req}
	y.source, y.client.Ctx = y, ctx
	y.reading = reading{k: x.k, ctx: ctx, id: x.id, v: x.v, h: c.wearing(x.h, hit), w: x.w}
	if !c.until {
		y.req.Header = c.wearing(x.req.Header, hit)
	}
	n := y.start(ctx, &previous{}, true)
	if !n.wait(ctx) {
		return nil, ctx.Err()
	}
	switch v := n.verdict; {
	case n.err != nil:
		return nil, n.err
	case v.Fate == record.Store && n.page != nil:
		return n.page, nil
	case (n.page == nil || v.Fate == record.Share) && outdates(&n.msg, c.rules.Shared, v.Why):
		return nil, nil
	}
	cache.Filling(ctx).NoStore()
	return nil, nil
}

// wearing returns h with the values that select the page p. The first entry of a URL may be for other
// clients, and then its Vary leads the client of the hit to a variant.
func (c *Cache) wearing(h http.Header, p *page.Page) http.Header {
	if p.Selects(h, c.hashed) {
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

// auditIgnore makes the names in Config.AuditIgnore canonical, and returns the faults.
func (c *Config) auditIgnore() (errs []error) {
	for i, n := range c.AuditIgnore {
		if !rules.IsToken(n) {
			errs = append(errs, fmt.Errorf("field AuditIgnore: entry %d is not a header's name", i))
		}
	}
	c.AuditIgnore = canonicalNames(c.AuditIgnore)
	return errs
}
