package httpcache

import (
	"crypto/tls"
	"net/http"
	"net/url"
)

// request returns the request that a handler is given when it renders for
// everybody: r, which is a copy that lacks what request replaces, with nothing
// of its client in it but what the key says.
func (c *Cache) request(t *target, r *http.Request) *http.Request {
	u := &url.URL{Path: t.path, RawQuery: t.query}
	if u.EscapedPath() != t.escaped {
		u.RawPath = t.escaped
	}
	r.Method, r.URL, r.RequestURI, r.Host = http.MethodGet, u, t.line(), t.host
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	r.RemoteAddr = "0.0.0.0:0" // has to parse, and is nobody's
	r.Header, r.Body = make(http.Header, len(t.vary)), http.NoBody
	for i, v := range t.vary {
		if v != "" {
			r.Header[c.cfg.Vary[i].Header] = []string{v}
		}
	}
	if t.secure {
		r.TLS = tlsWithoutClient()
	}
	return r
}

// tlsWithoutClient is all that handlers learn of TLS: that there was.
func tlsWithoutClient() *tls.ConnectionState {
	return &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true}
}

// bare returns a copy of r without what request replaces, and without what else
// says something of the client. What routers have put there stays.
func bare(r *http.Request) http.Request {
	c := *r
	c.URL, c.Header, c.Body, c.GetBody, c.Trailer, c.TLS = nil, nil, nil, nil, nil, nil
	c.ContentLength, c.TransferEncoding, c.Close = 0, nil, false
	c.Form, c.PostForm, c.MultipartForm, c.Response = nil, nil, nil, nil
	return c
}

// schemeKey is the key of the scheme, https or not, in the context of what Cache.Request
// returns.
type schemeKey struct{}

// secure reports whether the scheme of a request is https.
func (c *Cache) secure(r *http.Request) bool {
	if r.RemoteAddr == "" { // a server's request has one
		if https, ok := r.Context().Value(schemeKey{}).(bool); ok {
			return https
		}
	}
	return c.cfg.Secure(r)
}
