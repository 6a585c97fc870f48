// Package address spells the keys of requests. It reads requests, and knows no cache.
package address

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Target is everything in a request that a response for everybody may depend on. All of it is in
// the key.
type Target struct {
	Key     string // the id of the entry, before key.Text
	Secure  bool   // the scheme is https
	Host    string // in lower case
	Path    string // decoded, as routers see it
	Escaped string // the path as it was escaped
	at      string // the escaped path of the request line, if an outer handler rewrote it
	Query   string // normalised
	Vary    []string
	Saw     rules.Seen    // what is in the header
	Wants   rules.Request // what the client requires
	Demands bool          // it asks for a part of a page, or sets an unusual condition
	Allowed bool          // it has credentials, and AllowAuthorized allowed them
}

// Locate reads the path of the request. It reports false for a target that two programs might
// read differently: another form than a path (RFC 9112 §3.2), or dot segments or empty ones,
// escaped or not.
func (t *Target) Locate(r *http.Request) bool {
	u := r.URL
	if u.Host != "" || u.Scheme != "" || u.Opaque != "" || u.User != nil || !isClean(u.Path) {
		return false
	}
	t.Path, t.Escaped = u.Path, u.EscapedPath()
	// An outer handler may have cut off a prefix or replaced the path. Two requests are the same
	// only if both paths are the same.
	if rest, ok := strings.CutPrefix(r.RequestURI, t.Escaped); ok && (rest == "" || rest[0] == '?') || r.RequestURI == "" {
		return true
	}
	line, err := url.ParseRequestURI(r.RequestURI)
	if err != nil || line.Host != "" || !isClean(line.Path) {
		return false
	}
	if at := line.EscapedPath(); at != t.Escaped {
		t.at = at
	}
	return true
}

// Varied is a request header that responses may depend on; see Config.Vary of package httpcache.
type Varied struct {
	Header    string
	Normalize func(value string) string
	On        func(path string) bool // nil: on every path
}

// Spell returns the key, and the values of the headers in it, in the order of all. No
// part contains a separator: "|" and "?" are escaped in paths, "|" in queries and values, and
// hosts have no "/".
func (t *Target) Spell(all []Varied, h http.Header) (id string, vary []string) {
	var b strings.Builder
	b.Grow(len("https//") + len(t.Host) + len(t.Escaped) + len(t.Query) + 1)
	b.WriteString(Scheme(t.Secure))
	b.WriteString(t.Host)
	b.WriteString(t.Escaped)
	if t.Query != "" {
		b.WriteByte('?')
		b.WriteString(t.Query)
	}
	if t.at != "" {
		b.WriteString("|@=")
		b.WriteString(t.at)
	}
	for i, rule := range all {
		if rule.On != nil && !rule.On(t.Path) {
			continue
		}
		if v := rule.Normalize(rules.Joined(h[rule.Header])); v != "" {
			if vary == nil {
				vary = make([]string, len(all))
			}
			vary[i] = v
			b.WriteByte('|')
			b.WriteString(strings.ToLower(rule.Header))
			b.WriteByte('=')
			b.WriteString(url.QueryEscape(v))
		}
	}
	return Readable(b.String()), vary
}

// Line returns the target of a request line.
func (t *Target) Line() string {
	line := t.Escaped
	if t.at != "" {
		line = t.at
	}
	if t.Query != "" {
		line += "?" + t.Query
	}
	return line
}
