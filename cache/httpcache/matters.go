package httpcache

import (
	"net/http"
	"slices"
	"strings"
)

// Tracking reports whether a query parameter is one that advertisers and mail programs add to
// links. No page depends on these.
func Tracking(name string) bool {
	switch name {
	case "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "twclid", "ttclid", "yclid", "igshid",
		"mc_cid", "mc_eid", "_ga", "_gl", "li_fat_id", "srsltid":
		return true
	}
	return strings.HasPrefix(name, "utm_")
}

// keeps returns a function that reports whether a query parameter of path matters.
func (c *Config) keeps(path string) func(name string) bool {
	if c.Query != nil {
		if allowed, ok := c.Query(path); ok {
			return func(name string) bool { return slices.Contains(allowed, name) }
		}
	}
	return func(name string) bool { return !c.Tracking(name) }
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
