package httpcache

import (
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// conditions are the request headers that ask for less than a whole response. A rendering for
// everybody needs the whole one.
var conditions = []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "Range", "If-Range"}

// hides reports whether Config.Hide hides the header. The name is canonical.
func (c *Cache) hides(name string) bool {
	for _, h := range c.cfg.Hide {
		if n := len(h) - 1; h == name || h[n] == '*' && strings.HasPrefix(name, h[:n]) {
			return true
		}
	}
	return false
}

// shows reports whether the handler may see a value of an outer handler's context. Values of telemetry, such as the
// span of a request, change no response.
func (c *Config) shows(key any) bool {
	if key == http.ServerContextKey || key == http.LocalAddrContextKey || c.ContextKeys != nil && c.ContextKeys(key) {
		return true
	}
	return strings.HasPrefix(reflect.TypeOf(key).PkgPath(), "go.opentelemetry.io/")
}

// shown returns the request for the handler that renders for everybody of a Shared cache:
// the request of the first client as it came, without what is hidden, and with the key's values of
// the headers in Config.Vary. With bare set, it has no parameter that is not in the key. The response
// is that client's own if it may not be stored, unless the request had credentials, which the handler
// has not seen. Then mine is false.
func (x *handling) shown(n *exchange.Run, bare bool) (r *http.Request, mine bool) {
	r, mine = x.req.Clone(n.Ctx), !x.t.Allowed // the handler may change it
	r.Method, r.Body = http.MethodGet, http.NoBody
	r.Form, r.PostForm, r.MultipartForm = nil, nil, nil // of a query that may not be in the key
	if r.Header == nil {
		r.Header = http.Header{}
	}
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return x.drops(name) })
	x.forward(r.Header)
	x.wearKey(r.Header)
	if x.t.Allowed { // asked once: the request's context may be over by now
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			state := *r.TLS // the client's request has the same pointer
			state.PeerCertificates, state.VerifiedChains = nil, nil
			r.TLS = &state
		}
	}
	keep, _ := x.c.cfg.keeps(x.t.Path)
	n.URL = x.t.Spelled(r.URL, keep)
	if bare && keep != nil {
		if query := address.CutQuery(r.URL.RawQuery, keep); query != r.URL.RawQuery {
			r.URL.RawQuery, r.URL.ForceQuery = query, false
		}
	}
	x.align(r)
	return r, mine
}

// drops reports whether the handler must not see a header of the request.
func (x *handling) drops(name string) bool {
	cfg := &x.c.cfg
	switch {
	case slices.Contains(conditions, name),
		name == "Accept-Encoding" && len(cfg.Encodings) > 0,
		name == "Cookie" && cfg.IgnoreCookie != nil, // else a cookie is a credential
		x.t.Allowed && slices.Contains(cfg.Credentials, name):
		return true
	}
	return x.c.hides(name)
}

// forward tells the handler the scheme and the host of the key, if the client's words about them
// are hidden. Without them an origin behind a proxy that ends TLS would redirect to https for ever.
func (x *handling) forward(h http.Header) {
	tell := func(name, value string) {
		if rules.Has(x.req.Header, name) && x.c.hides(name) {
			h[name] = []string{value}
		}
	}
	tell("X-Forwarded-Proto", strings.TrimSuffix(address.Scheme(x.t.Secure), "//"))
	tell("X-Forwarded-Host", x.t.Host)
}

// wearKey gives the headers of Config.Vary the values that are in the key. With Shared hidden ones stay
// hidden.
func (x *handling) wearKey(h http.Header) {
	for i, rule := range x.c.cfg.Vary {
		if rule.On != nil && !rule.On(x.t.Path) || !x.c.cfg.pages() && x.c.hides(rule.Header) {
			continue
		}
		delete(h, rule.Header)
		if x.t.Vary != nil && x.t.Vary[i] != "" {
			h[rule.Header] = []string{x.t.Vary[i]}
		}
	}
}

// respell gives the request of an audit the spelling of its page's URL, if the key has another one. If an outer handler
// has rewritten the path, the request line keeps that of the key.
func (x *handling) respell(r *http.Request, spelled string) {
	u, err := url.ParseRequestURI(spelled)
	if err != nil { // it has none
		return
	}
	if r.URL = u; !x.t.Rewritten() {
		r.RequestURI = spelled
	}
	x.align(r)
}

// align gives the request the path of the key, without a host, and the request line the query of the URL, because an
// outer handler may have cut off parameters. Characters that no path has are escaped, as in the key. So requests with
// one key differ for the handler in equivalent escapes only, and in parameters that are not in the key.
func (x *handling) align(r *http.Request) {
	u, line := r.URL, x.t.Escaped
	u.Scheme, u.Host = "", ""
	if u.RawPath != u.EscapedPath() {
		u.RawPath = ""
	}
	if at, err := url.ParseRequestURI(r.RequestURI); err == nil { // else it is from no server
		line = at.EscapedPath()
	}
	if u.RawQuery != "" || u.ForceQuery {
		line += "?" + u.RawQuery
	}
	r.RequestURI = line
}
