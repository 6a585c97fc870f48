// Package address spells the keys of requests. It reads requests, and uses no cache.
package address

import (
	"cmp"
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
	Escaped string        // the escaped path, in normal form
	at      string        // the same of the request line, if an outer handler rewrote it
	Query   string        // in normal form
	Empty   bool          // a query without characters
	Vary    []string      // the values of the headers in the key, in the order of Config.Vary; nil: none
	Saw     rules.Seen    // what is in the header
	Wants   rules.Request // what the client requires
	Allowed bool          // it has credentials, and AllowAuthorized allowed them
}

// Locate reads the path of the request. It reports false for a target that two programs might
// read differently: one of another origin or form (RFC 9112 §3.2), or with dot segments or empty ones,
// escaped or not.
func (t *Target) Locate(r *http.Request) bool {
	if !t.isHere(r.URL) {
		return false
	}
	escaped := r.URL.EscapedPath()
	t.Path, t.Escaped = r.URL.Path, Normal(escaped)
	// An outer handler may have cut off a prefix or replaced the path. Two requests are the same
	// only if both paths are the same.
	if rest, ok := strings.CutPrefix(r.RequestURI, escaped); ok && (rest == "" || rest[0] == '?') || r.RequestURI == "" {
		return true
	}
	line, err := url.ParseRequestURI(r.RequestURI)
	if err != nil || !t.isHere(line) {
		return false
	}
	if at := Normal(line.EscapedPath()); at != t.Escaped {
		t.at = at
	}
	return true
}

// Rewritten reports whether an outer handler has rewritten the path of the request line.
func (t *Target) Rewritten() bool { return t.at != "" }

// isHere reports whether u is a clean path, alone or after the scheme and the host of the request.
func (t *Target) isHere(u *url.URL) bool {
	if u.Host != "" || u.Scheme != "" {
		if !strings.EqualFold(u.Host, t.Host) || u.Scheme+"//" != Scheme(t.Secure) {
			return false
		}
	}
	return u.Opaque == "" && u.User == nil && isClean(u.Path)
}

// Spell returns the key. Names are the headers with a value in t.Vary. No part contains a separator: "|" and
// "?" are escaped in paths, "|" in queries and values, and hosts have no "/".
func (t *Target) Spell(names func(i int) string) (id string) {
	var room [512]byte
	b := append(room[:0], Scheme(t.Secure)...)
	b = append(b, t.Host...)
	b = appendPlain(b, t.Escaped)
	if t.Query != "" || t.Empty {
		b = append(b, '?')
		b = appendPlain(b, t.Query)
	}
	if t.at != "" {
		b = append(b, "|@="...)
		b = appendPlain(b, t.at)
	}
	for i, v := range t.Vary {
		if v != "" {
			b = append(b, '|')
			b = append(b, strings.ToLower(names(i))...)
			b = append(b, '=')
			b = append(b, Readable(url.QueryEscape(v))...)
		}
	}
	return string(b)
}

// Spelled returns a URL of the target without the parameters that do not matter. If the key spells it in the same
// way, that is "".
func (t *Target) Spelled(u *url.URL, keep func(name string) bool) string {
	query := u.RawQuery
	if keep != nil {
		query = CutQuery(query, keep)
	}
	if escaped := u.EscapedPath(); escaped != t.Escaped || query != t.Query || u.ForceQuery != t.Empty {
		return (&url.URL{Path: u.Path, RawPath: escaped, RawQuery: query, ForceQuery: u.ForceQuery}).RequestURI()
	}
	return ""
}

// Line returns the target of a request line.
func (t *Target) Line() string {
	line := cmp.Or(t.at, t.Escaped)
	if t.Query != "" || t.Empty {
		line += "?" + t.Query
	}
	return line
}
