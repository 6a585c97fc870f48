package httpcache

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
)

// fromKey returns the request for a handler of Pages. It holds nothing of the client except what is in the
// key. Values that routers have set remain.
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
	r.URL = &url.URL{Path: t.Path, RawQuery: t.Query}
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
