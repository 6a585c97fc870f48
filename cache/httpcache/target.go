package httpcache

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/key"
)

// target is what a request asks for, as far as a response for everybody may
// depend on it. All of it is in the key.
type target struct {
	key     string // the id of the entry, before it is spelled
	secure  bool   // the scheme is https
	host    string // in lower case
	path    string // decoded, as routers see it
	escaped string // the path as it was escaped
	at      string // the escaped path of the request line, if an outer handler rewrote it
	query   string // normalised
	vary    []string
	noStore bool // the client asks that nothing of it is stored
	cached  bool // the client wants what is there, or nothing
	limits  limits
}

// target returns what r asks for, or the reason why the cache has nothing to do
// with it.
func (c *Cache) target(r *http.Request) (t target, why reason) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return t, byMethod
	}
	if why := c.personal(r); why != none {
		return t, why
	}
	if t.host = strings.ToLower(r.Host); !c.serves(t.host) {
		return t, byHost
	}
	if !t.locate(r) {
		return t, byPath
	}
	if r.URL.RawQuery != "" {
		var ok bool
		if t.query, ok = normalize(r.URL.RawQuery, c.cfg.keeps(t.path)); !ok {
			return t, byQuery
		}
	}
	t.secure = c.secure(r)
	if lines := r.Header["Cache-Control"]; len(lines) > 0 {
		d, _ := parseCacheControl(lines)
		t.noStore, t.cached = d.has("no-store"), d.has("only-if-cached")
	}
	if c.cfg.ClientMayRefresh(r) {
		t.limits = limitsOf(r.Header)
	}
	t.key, t.vary = c.spell(&t, r.Header)
	if !c.fits(t.key) {
		return t, byKeyLength
	}
	return t, none
}

// personal returns why a request is its client's own affair, if it is.
func (c *Cache) personal(r *http.Request) reason {
	h := r.Header
	switch {
	case cache.Filling(r.Context()) != nil:
		return byNesting // it is an ingredient of something else, which learns of its dependencies
	case c.cfg.Bypass != nil && c.cfg.Bypass(r):
		return byProgram
	case has(h, "Upgrade") || has(h, "Connection") && names(h["Connection"], "upgrade"):
		return byUpgrade
	case drops(h):
		return byConnection
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return byBody
	case has(h, "Last-Event-Id") || has(h, "Accept") && names(h["Accept"], "text/event-stream"):
		return byStream
	}
	if c.hasCredentials(r) && (c.cfg.AllowAuthorized == nil || !c.cfg.AllowAuthorized(r)) {
		return byCredentials
	}
	return none
}

// drops reports whether a request's Connection names another header that it has. A proxy
// behind the cache would not pass that on (RFC 9110 §7.6.1): its response would be made for
// other values than the key says.
func drops(h http.Header) bool {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			switch name = http.CanonicalHeaderKey(strings.TrimSpace(name)); name {
			case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Http2-Settings":
				continue
			}
			if has(h, name) {
				return true
			}
		}
	}
	return false
}

func (c *Cache) hasCredentials(r *http.Request) bool {
	for _, name := range c.cfg.Credentials {
		if has(r.Header, name) && (name != "Cookie" || !c.cfg.ignores(r)) && (name != "Authorization" || !c.cfg.SharedAuthorization) {
			return true
		}
	}
	return r.TLS != nil && len(r.TLS.PeerCertificates) > 0
}

func (c *Cache) serves(host string) bool {
	if len(c.cfg.Hosts) > 0 {
		return slices.Contains(c.cfg.Hosts, host)
	}
	return isHost(host)
}

// locate reads where the request points to. It reports false for a target that
// two programs might read differently: of another form than a path (RFC 9112
// §3.2), or with dot segments or empty ones, also if they are escaped.
func (t *target) locate(r *http.Request) bool {
	u := r.URL
	if u.Host != "" || u.Scheme != "" || u.Opaque != "" || u.User != nil || !isClean(u.Path) {
		return false
	}
	t.path, t.escaped = u.Path, u.EscapedPath()
	// An outer handler may have cut off a prefix, or may have replaced the path
	// altogether. Two requests are the same only if both paths are.
	if rest, ok := strings.CutPrefix(r.RequestURI, t.escaped); ok && (rest == "" || rest[0] == '?') || r.RequestURI == "" {
		return true
	}
	line, err := url.ParseRequestURI(r.RequestURI)
	if err != nil || line.Host != "" || !isClean(line.Path) {
		return false
	}
	if at := line.EscapedPath(); at != t.escaped {
		t.at = at
	}
	return true
}

// spell returns the key, and the values of the headers that are part of it, in
// the order of Config.Vary. Nothing that stands between separators can contain
// one: "|" and "?" are escaped in paths, "|" in queries and values, and no host
// has a "/".
func (c *Cache) spell(t *target, h http.Header) (id string, vary []string) {
	var b strings.Builder
	b.Grow(len("https//") + len(t.host) + len(t.escaped) + len(t.query) + 1)
	b.WriteString(scheme(t.secure))
	b.WriteString(t.host)
	b.WriteString(t.escaped)
	if t.query != "" {
		b.WriteByte('?')
		b.WriteString(t.query)
	}
	if t.at != "" {
		b.WriteString("|@=")
		b.WriteString(t.at)
	}
	for i, rule := range c.cfg.Vary {
		if rule.On != nil && !rule.On(t.path) {
			continue
		}
		if v := rule.Normalize(joined(h[rule.Header])); v != "" {
			if vary == nil {
				vary = make([]string, len(c.cfg.Vary))
			}
			vary[i] = v
			b.WriteByte('|')
			b.WriteString(strings.ToLower(rule.Header))
			b.WriteByte('=')
			b.WriteString(url.QueryEscape(v))
		}
	}
	return readable(b.String()), vary
}

// readable writes "^" for "%", which the library would escape once more; a URL has
// no "^" of its own.
func readable(id string) string { return strings.ReplaceAll(id, "%", "^") }

// scheme is how the key begins. A page can depend on the scheme: a redirect from
// http to https that was served to both would never end. A colon would only be
// escaped.
func scheme(secure bool) string {
	if secure {
		return "https//"
	}
	return "http//"
}

// fits reports whether the library takes a key of that id, spelled.
func (c *Cache) fits(id string) bool {
	room := key.MaxLen - len(c.space.Tenant) - len(c.space.Namespace) - 2 // and two colons
	return 3*len(id) <= room || len(id) <= room && len(key.Text(id)) <= room
}

// isHost reports whether s can be the Host of a request, in lower case, with or
// without a port; the empty one is that of HTTP/1.0.
func isHost(s string) bool {
	if len(s) > 255 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' || !isAlnum(c) && strings.IndexByte("-._:[]", c) < 0 {
			return false
		}
	}
	return true
}

// isClean reports whether a decoded path is absolute and has no segment that is
// empty, but for the last, or "." or "..".
func isClean(p string) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	for rest, more := p[1:], true; more; {
		var s string
		s, rest, more = strings.Cut(rest, "/")
		if s == "." || s == ".." || s == "" && more {
			return false
		}
	}
	return true
}
