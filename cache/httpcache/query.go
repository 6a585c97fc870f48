package httpcache

import (
	"net/url"
	"slices"
	"strings"
)

// maxQuery is the longest query that is looked at, in bytes.
const maxQuery = 4096

// Tracking reports whether a query parameter is one of those that advertisers
// and mail programs add to links, and that no page depends on.
func Tracking(name string) bool {
	switch name {
	case "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "twclid", "ttclid", "yclid", "igshid",
		"mc_cid", "mc_eid", "_ga", "_gl", "li_fat_id", "srsltid":
		return true
	}
	return strings.HasPrefix(name, "utm_")
}

// keeps returns what tells whether a query parameter of path matters.
func (c *Config) keeps(path string) func(name string) bool {
	if c.Query != nil {
		if allowed, ok := c.Query(path); ok {
			return func(name string) bool { return slices.Contains(allowed, name) }
		}
	}
	return func(name string) bool { return !c.Tracking(name) }
}

// normalize returns the query in the one form that all queries of its meaning
// share: sorted by name, in the order they came in by value, spelled as
// url.Values.Encode does, without the parameters that do not matter. A query
// that does not parse, also one with ";", which some take for a separator, has
// no meaning that two programs would agree on, and is not ok.
func normalize(raw string, keep func(name string) bool) (query string, ok bool) {
	if raw == "" || isNormal(raw, keep) {
		return raw, true
	}
	if len(raw) > maxQuery {
		return "", false
	}
	v, err := url.ParseQuery(raw)
	if err != nil {
		return "", false
	}
	for name := range v {
		if !keep(name) {
			delete(v, name)
		}
	}
	return v.Encode(), true
}

// isNormal reports whether a query surely is what normalize would return, which
// it nearly always is, so that nothing has to be parsed.
func isNormal(raw string, keep func(name string) bool) bool {
	if len(raw) > maxQuery {
		return false
	}
	last := ""
	for more := true; more; {
		var pair string
		pair, raw, more = strings.Cut(raw, "&")
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || name < last || !unreserved(name) || !unreserved(value) || !keep(name) {
			return false
		}
		last = name
	}
	return true
}

// unreserved reports whether s is made of the characters that are never escaped.
func unreserved(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte("-_.~", s[i]) < 0 {
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
