package httpcache

import (
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
)

// handling is an exchange whose source is a handler.
type handling struct {
	exchange.Exchange
	c     *Cache
	next  http.Handler
	t     address.Target
	req   http.Request // made by bare for Pages
	plain plainContext
}

func (c *Cache) handling(next http.Handler, w http.ResponseWriter, r *http.Request, t address.Target) *handling {
	x := &handling{c: c, next: next, t: t}
	x.Source, x.Client = x, record.Client{Ctx: r.Context(), Writer: w}
	x.Reading = exchange.Reading{Core: &c.k, Ctx: r.Context(), ID: t.Key, Header: r.Header, Wants: t.Wants}
	if c.cfg.pages() {
		x.req = bare(r)
		x.plain = plainContext{r.Context()}
		x.Ctx = &x.plain
	} else {
		x.req = *r
	}
	if r.Method == http.MethodHead {
		x.Client.Writer = nil // a HEAD has no body
	}
	return x
}

// turned returns the exchange of the variant of our client, after the page p of the URL proved to be for
// others, or the reason why there is none.
func (x *handling) turned(w http.ResponseWriter, r *http.Request, p *page.Page) (y *handling, why reason.Reason) {
	y = x.c.handling(x.next, w, r, x.t)
	if x.Variant != nil || !y.Turn(p) {
		return nil, reason.Vary
	}
	return y, reason.None
}

// asked counts a request for which the handler ran.
func (x *handling) asked(format string) {
	n := x.c.k.Stats.Of(format)
	if x.Led.Load() {
		n.Misses.Add(1)
	} else {
		n.Coalesced.Add(1)
	}
}
