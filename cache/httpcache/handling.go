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
	req   http.Request // made by bare for Pages
	plain plainContext
	room  [10]string // of most headers of an answer
}

func (c *Cache) handling(next http.Handler, w http.ResponseWriter, r *http.Request, t address.Target) *handling {
	x := &handling{c: c, next: next, t: t}
	x.Source, x.Client = x, record.Client{Ctx: r.Context(), Writer: w}
	x.Reading = exchange.Reading{Core: &c.k, Ctx: r.Context(), ID: t.Key, Header: r.Header, Wants: t.Wants}
	x.Host, x.Path = t.Host, t.Path
	if c.cfg.pages() {
		x.req = bare(r)
		x.plain = plainContext{r.Context()}
		x.Ctx = &x.plain
	} else {
		x.req = *r
		if r.URL.RawQuery != "" {
			x.Unkeyed = address.Unkeyed(r.URL.RawQuery, c.cfg.keeps(t.Path))
		}
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

// bare returns a copy of r without the parts that request replaces, and without the other parts
// that say something about the client. Values that routers have set remain.
func bare(r *http.Request) http.Request {
	c := *r
	c.URL, c.Header, c.Body, c.GetBody, c.Trailer, c.TLS = nil, nil, nil, nil, nil, nil
	c.ContentLength, c.TransferEncoding, c.Close = 0, nil, false
	c.Form, c.PostForm, c.MultipartForm, c.Response = nil, nil, nil, nil
	return c
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
