// Package address spells the keys of requests. It reads requests, and uses no cache.
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
	Key     string        // the id of the entry, before key.Text
	Secure  bool          // the scheme is https
	Host    string        // in lower case
	Path    string        // decoded, as routers see it
	Escaped string        // the path as it was escaped
	at      string        // the escaped path of the request line, if an outer handler rewrote it
	Query   string        // normalised
	Vary    []string      // the values of the headers in the key, in the order of Config.Vary; nil: none
	Saw     rules.Seen    // what is in the header
	Wants   rules.Request // what the client requires
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

// Spell returns the key. Names are the headers with a value in t.Vary. No part contains a separator: "|" and
// "?" are escaped in paths, "|" in queries and values, and hosts have no "/".
func (t *Target) Spell(names func(i int) string) (id string) {
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
	for i, v := range t.Vary {
		if v != "" {
			b.WriteByte('|')
			b.WriteString(strings.ToLower(names(i)))
			b.WriteByte('=')
			b.WriteString(url.QueryEscape(v))
		}
	}
	return Readable(b.String())
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
