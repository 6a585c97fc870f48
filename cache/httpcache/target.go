package httpcache

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// target is everything in a request that a response for everybody may depend on. All of it is in
// the key.
type target struct {
	key     string // the id of the entry, before key.Text
	secure  bool   // the scheme is https
	host    string // in lower case
	path    string // decoded, as routers see it
	escaped string // the path as it was escaped
	at      string // the escaped path of the request line, if an outer handler rewrote it
	query   string // normalised
	vary    []string
	saw     rules.Seen    // what is in the header
	w       rules.Request // what the client requires
	demands bool          // it asks for a part of a page, or sets an unusual condition
	allowed bool          // it has credentials, and AllowAuthorized allowed them
}

// target returns the target of r, or the reason why r bypasses the cache.
func (c *Cache) target(r *http.Request) (t target, why reason.Reason) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return t, reason.Method
	}
	if why := c.personal(r, &t); why != reason.None {
		return t, why
	}
	if t.host = strings.ToLower(r.Host); !c.serves(t.host) {
		return t, reason.Host
	}
	if !t.locate(r) {
		return t, reason.Path
	}
	if r.URL.RawQuery != "" {
		var ok bool
		if t.query, ok = normalize(r.URL.RawQuery, c.cfg.keeps(t.path)); !ok {
			return t, reason.Query
		}
	}
	t.secure = c.secure(r)
	t.demands = t.saw.Any(rules.SawRange | rules.SawIfMatch)
	t.w = t.saw.Request(r.Header)
	t.w.NoCache, t.w.MaxAge, t.w.MinFresh, t.w.MaxStale = false, -1, -1, -1 // any client could make the handler work
	t.key, t.vary = c.spell(&t, r.Header)
	if !c.fits(t.key, 0) {
		return t, reason.KeyLength
	}
	return t, reason.None
}

// personal returns the reason why a request must be answered for its client alone, or none.
func (c *Cache) personal(r *http.Request, t *target) reason.Reason {
	h := r.Header
	t.saw = rules.Look(h)
	switch {
	case cache.Filling(r.Context()) != nil:
		return reason.Nesting // it is part of another load, which records its dependencies
	case c.cfg.Bypass != nil && c.cfg.Bypass(r):
		return reason.Program
	case t.saw.Any(rules.SawUpgrade):
		return reason.Upgrade
	}
	if t.saw.Any(rules.SawConnection) {
		if rules.Lists(h["Connection"], "upgrade") {
			return reason.Upgrade
		}
		if drops(h) {
			return reason.Connection
		}
	}
	switch {
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return reason.Body
	case t.saw.Any(rules.SawStream) && (rules.Has(h, "Last-Event-Id") || rules.Lists(h["Accept"], "text/event-stream")):
		return reason.Stream
	}
	t.allowed = c.cfg.AllowAuthorized != nil && c.bears(r) && c.cfg.AllowAuthorized(r)
	if !t.allowed && c.hasCredentials(r, t.saw) {
		return reason.Credentials
	}
	return reason.None
}

// drops reports whether a request's Connection names another header of the request. A proxy
// behind the cache would not pass that header on (RFC 9110 §7.6.1), so its response would not
// match the key.
func drops(h http.Header) bool {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			switch name = http.CanonicalHeaderKey(strings.TrimSpace(name)); name {
			case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Http2-Settings":
				continue
			}
			if rules.Has(h, name) {
				return true
			}
		}
	}
	return false
}

// bears reports whether the request has credentials, also those that another option allows.
func (c *Cache) bears(r *http.Request) bool {
	return r.TLS != nil && len(r.TLS.PeerCertificates) > 0 ||
		slices.ContainsFunc(c.cfg.Credentials, func(name string) bool { return rules.Has(r.Header, name) })
}

func (c *Cache) hasCredentials(r *http.Request, saw rules.Seen) bool {
	for i, name := range c.cfg.Credentials {
		if i < usual && !saw.Any(rules.SawAuthorization<<i) {
			continue
		}
		if rules.Has(r.Header, name) && (name != "Cookie" || !c.cfg.ignores(r)) {
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

// locate reads the path of the request. It reports false for a target that two programs might
// read differently: another form than a path (RFC 9112 §3.2), or dot segments or empty ones,
// escaped or not.
func (t *target) locate(r *http.Request) bool {
	u := r.URL
	if u.Host != "" || u.Scheme != "" || u.Opaque != "" || u.User != nil || !isClean(u.Path) {
		return false
	}
	t.path, t.escaped = u.Path, u.EscapedPath()
	// An outer handler may have cut off a prefix or replaced the path. Two requests are the same
	// only if both paths are the same.
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

// spell returns the key, and the values of the headers in it, in the order of Config.Vary. No
// part contains a separator: "|" and "?" are escaped in paths, "|" in queries and values, and
// hosts have no "/".
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
		if v := rule.Normalize(rules.Joined(h[rule.Header])); v != "" {
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

// readable writes "^" for "%", which the library would escape again. A URL has no "^" of its own.
func readable(id string) string { return strings.ReplaceAll(id, "%", "^") }

// scheme returns the beginning of the key. A page can depend on the scheme: a stored redirect
// from http to https, served to both, would never end. There is no colon because it would be
// escaped.
func scheme(secure bool) string {
	if secure {
		return "https//"
	}
	return "http//"
}

// isHost reports whether s is a valid Host in lower case, with or without a port. HTTP/1.0 allows
// an empty one.
func isHost(s string) bool {
	if len(s) > 255 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' || !rules.IsAlnum(c) && strings.IndexByte("-._:[]", c) < 0 {
			return false
		}
	}
	return true
}

// isClean reports whether a decoded path is absolute and has no "." or ".." segment, and no empty
// segment except the last.
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
