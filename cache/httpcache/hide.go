package httpcache

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// conditions are the request headers that ask for less than a whole response. A rendering for
// everybody needs the whole one.
var conditions = []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "Range", "If-Range"}

// hides reports whether Config.Hide hides the header. The name is canonical.
func (c *Cache) hides(name string) bool {
	return slices.ContainsFunc(c.cfg.Hide, func(h string) bool {
		start, ok := strings.CutSuffix(h, "*")
		return h == name || ok && strings.HasPrefix(name, start)
	})
}

// shown returns the request for the handler that renders for everybody without KeyOnly: the
// request of the first client without what is hidden, and with the key's spelling of what is in
// the key. If neither changed anything, whole is true and the response may be that client's own.
func (x *exchange) shown(ctx context.Context) (r *http.Request, whole bool) {
	c := x.c
	r, whole = x.req.Clone(ctx), x.req.Method == http.MethodGet
	r.Method, r.Body = http.MethodGet, http.NoBody
	r.Form, r.PostForm, r.MultipartForm = nil, nil, nil // of a query that may not be in the key
	for name := range r.Header {
		if c.hides(name) {
			delete(r.Header, name)
			whole = false
		}
	}
	whole = x.wearKey(r.Header) && whole
	for _, name := range conditions {
		delete(r.Header, name)
	}
	if len(c.cfg.Encodings) > 0 {
		delete(r.Header, "Accept-Encoding")
	}
	if cookies := r.Header["Cookie"]; len(cookies) > 0 && c.cfg.IgnoreCookie != nil { // else it is a credential
		delete(r.Header, "Cookie")
		whole = false
	}
	if x.t.allowed { // asked once: the request's context may be over by now
		for _, name := range c.cfg.Credentials {
			if has(r.Header, name) {
				delete(r.Header, name)
				whole = false
			}
		}
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			state := *r.TLS // the client's request has the same pointer
			state.PeerCertificates, state.VerifiedChains = nil, nil
			r.TLS = &state
			whole = false
		}
	}
	whole = x.respell(r) && whole
	return r, whole
}

// wearKey gives the headers of Config.Vary the values that are in the key. Hidden ones stay
// hidden. It reports whether h had these values before.
func (x *exchange) wearKey(h http.Header) (same bool) {
	same = true
	for i, rule := range x.c.cfg.Vary {
		if rule.On != nil && !rule.On(x.t.path) || x.c.hides(rule.Header) {
			continue
		}
		v := ""
		if x.t.vary != nil {
			v = x.t.vary[i]
		}
		switch lines := h[rule.Header]; {
		case v == "" && len(lines) > 0:
			delete(h, rule.Header)
			same = false
		case v != "" && (len(lines) != 1 || lines[0] != v):
			h[rule.Header] = []string{v}
			same = false
		}
	}
	return same
}

// respell gives the host, the path and the query of r, in all places, the spelling of the key. It
// reports whether r had it before. A request without a request line is from no server; it gets one.
func (x *exchange) respell(r *http.Request) (same bool) {
	t, u := &x.t, r.URL
	line := t.line()
	same = r.Host == t.host && (r.RequestURI == line || r.RequestURI == "") && u.RawQuery == t.query && !u.ForceQuery
	r.Host, r.RequestURI, u.RawQuery, u.ForceQuery = t.host, line, t.query, false
	if u.RawPath != "" && u.RawPath != t.escaped { // not valid, so the path was escaped without it
		u.RawPath, same = "", false
	}
	return same
}

// line returns the target of a request line.
func (t *target) line() string {
	line := t.escaped
	if t.at != "" {
		line = t.at
	}
	if t.query != "" {
		line += "?" + t.query
	}
	return line
}

// ignores reports whether all cookies of a request are ignored.
func (c *Config) ignores(r *http.Request) bool {
	if c.IgnoreCookie == nil {
		return false
	}
	for _, line := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if name != "" && !c.IgnoreCookie(name) {
				return false
			}
		}
	}
	return true
}
