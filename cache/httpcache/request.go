package httpcache

import (
	"crypto/tls"
	"net/http"
	"net/url"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
)

// request turns r, a copy made by bare, into the request for a handler that renders for
// everybody. It holds nothing of the client except what is in the key.
func (c *Cache) request(t *address.Target, r *http.Request) *http.Request {
	u := &url.URL{Path: t.Path, RawQuery: t.Query}
	if u.EscapedPath() != t.Escaped {
		u.RawPath = t.Escaped
	}
	r.Method, r.URL, r.RequestURI, r.Host = http.MethodGet, u, t.Line(), t.Host
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	r.RemoteAddr = "0.0.0.0:0" // must parse, and belongs to no client
	r.Header, r.Body = make(http.Header, len(t.Vary)), http.NoBody
	for i, v := range t.Vary {
		if v != "" {
			r.Header[c.cfg.Vary[i].Header] = []string{v}
		}
	}
	if t.Secure {
		r.TLS = tlsWithoutClient()
	}
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
