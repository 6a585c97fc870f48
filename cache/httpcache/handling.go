package httpcache

import (
	"context"
	"net/http"
	"slices"

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
	req   http.Request
	plain plainContext
	room  [10]string // of most headers of an answer
}

func (c *Cache) handling(next http.Handler, w http.ResponseWriter, r *http.Request, t address.Target) *handling {
	x := &handling{c: c, next: next, t: t}
	x.Source, x.Client = x, record.Client{Ctx: r.Context(), Writer: w}
	x.Reading, x.req = c.reading(r, &t), *r
	x.Host, x.Path = t.Host, t.Path
	if c.cfg.pages() {
		x.plain = plainContext{r.Context()}
		x.Ctx = &x.plain
	} else if r.URL.RawQuery != "" {
		x.Unkeyed = address.Unkeyed(r.URL.RawQuery, c.cfg.keeps(t.Path))
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

// contextKeys are the keys of context values that every handler may see.
var contextKeys = []any{http.ServerContextKey, http.LocalAddrContextKey}

// plainContext is a client's context without the values of outer handlers. Such a value may be
// about the client, and the rendering is for everybody.
type plainContext struct{ context.Context }

// Value returns the values of the known keys only.
func (c *plainContext) Value(key any) any {
	if slices.Contains(contextKeys, key) {
		return c.Context.Value(key)
	}
	return nil
}

// AfterFunc saves package context a goroutine for each derived context.
func (c *plainContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.Context, f)
}
