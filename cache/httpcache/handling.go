package httpcache

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// handling is an exchange whose source is a handler.
type handling struct {
	exchange.Exchange
	c      *Cache
	next   http.Handler
	t      address.Target
	req    http.Request
	stored *page.Page // which a HEAD is not answered from
	again  bool       // its client has waited for a load that left the page
	room   [10]string // of most headers of an answer

	audited *page.Page // of an audit
}

func (c *Cache) handling(next http.Handler, w http.ResponseWriter, r *http.Request, t address.Target) *handling {
	x := &handling{c: c, next: next, t: t}
	x.Source, x.Client = x, record.Client{Ctx: r.Context(), Writer: w}
	x.Reading, x.req = c.reading(r, &t), *r
	x.Outer, x.Host, x.Path = r.Context(), t.Host, t.Path
	if !c.cfg.pages() && r.URL.RawQuery != "" {
		if keep, _ := c.cfg.keeps(t.Path); keep != nil {
			x.Unkeyed = address.Unkeyed(r.URL.RawQuery, keep)
		}
	}
	if r.Method == http.MethodHead {
		x.Client.Writer = nil // a HEAD has no body
	}
	return x
}

// turned returns the exchange of the variant of our client, after the page p of the URL proved to be for
// others, or nil if there is none.
func (x *handling) turned(w http.ResponseWriter, r *http.Request, p *page.Page) *handling {
	y := x.c.handling(x.next, w, r, x.t)
	if x.Variant != nil || !y.Turn(p) {
		return nil
	}
	return y
}

func (x *handling) Begin(old exchange.Previous) (leave bool, err error) {
	return old.Leave, nil
}

func (x *handling) Request(n *exchange.Run, bare bool) (r *http.Request) {
	switch {
	case x.c.cfg.pages():
		r = x.fromKey(n.Ctx)
	case x.audited != nil:
		r = x.fromKey(n.Ctx)
		x.forward(r.Header)
		r.Header = x.c.wearing(r.Header, x.audited)
		x.respell(r, x.audited.URL)
	default:
		r, n.Own = x.shown(n, bare)
		n.Parts = x.t.Saw.Any(rules.SawRange | rules.SawIfMatch | rules.SawIfNoneMatch)
	}
	return r
}

func (x *handling) Serve(n *exchange.Run, r *http.Request) error {
	x.next.ServeHTTP(&n.Rec, r)
	return nil
}

// Keyed reports whether a header needs no variant: its value is in the key, or the handler sees it of no
// client.
func (x *handling) Keyed(name string) bool {
	return x.declares(name) || !x.c.cfg.pages() && x.unseen(name)
}

func (x *handling) declares(header string) bool {
	cfg := &x.c.cfg
	if len(cfg.Encodings) > 0 && header == "Accept-Encoding" {
		return true // no handler sees it
	}
	return slices.ContainsFunc(cfg.Vary, func(r VaryRule) bool { return r.Header == header && (r.On == nil || r.On(x.t.Path)) })
}

// Sees returns the lines of a header that is in no key.
func (x *handling) Sees(name string) []string {
	if x.c.cfg.pages() || x.unseen(name) {
		return nil
	}
	return x.Header[name]
}

// unseen reports whether the handler sees a header of no client: it is dropped, or it is a credential.
func (x *handling) unseen(name string) bool {
	return x.drops(name) || slices.Contains(x.c.cfg.Credentials, name)
}

// fromKey returns the request for a handler of Pages, or for an audit. It holds nothing of the client except what
// is in the key. The PathValues of net/http's router remain.
func (x *handling) fromKey(ctx context.Context) *http.Request {
	t, c := &x.t, x.req
	c.URL, c.Header, c.Body, c.GetBody, c.Trailer, c.TLS = nil, nil, http.NoBody, nil, nil, nil
	c.ContentLength, c.TransferEncoding, c.Close = 0, nil, false
	c.Form, c.PostForm, c.MultipartForm, c.Response = nil, nil, nil, nil
	c.Method, c.RequestURI, c.Host = http.MethodGet, t.Line(), t.Host
	c.Proto, c.ProtoMajor, c.ProtoMinor = "HTTP/1.1", 1, 1
	c.RemoteAddr = "0.0.0.0:0" // must parse, and belongs to no client
	if t.Secure {
		c.TLS = tlsWithoutClient()
	}
	r := c.Clone(ctx)
	r.URL = &url.URL{Path: t.Path, RawQuery: t.Query, ForceQuery: t.Empty}
	if r.URL.EscapedPath() != t.Escaped {
		r.URL.RawPath = t.Escaped
	}
	r.Header = make(http.Header, len(t.Vary))
	x.wearKey(r.Header)
	return r
}

// tlsWithoutClient tells handlers only that there was TLS.
func tlsWithoutClient() *tls.ConnectionState {
	return &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true}
}

// schemeKey is the context key for the scheme in requests that Cache.Request returns. The value
// is true for https.
type schemeKey struct{}

// secure reports whether the scheme of a request is https.
func (c *Cache) secure(r *http.Request) bool {
	if r.RemoteAddr == "" { // a request from a server always has one
		if https, ok := r.Context().Value(schemeKey{}).(bool); ok {
			return https
		}
	}
	return c.cfg.Secure(r)
}
