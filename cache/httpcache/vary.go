package httpcache

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// maxLearned is how many request headers a response may vary on besides those of Config.Vary.
const maxLearned = 8

// learned returns the request headers that a response to t varies on and that are not in its key,
// sorted and unique. It reports false for a response that no key can describe.
func (c *Cache) learned(t *target, h http.Header, encoded bool) (names []string, ok bool) {
	for _, line := range rules.VaryLines(h, encoded) {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if name == "" || c.declares(t, name) {
				continue
			}
			if !rules.IsToken(name) || name == "*" {
				return nil, false
			}
			name = http.CanonicalHeaderKey(name)
			if unsafeToVary(name) {
				return nil, false
			}
			if !c.hides(name) && !slices.Contains(names, name) { // hidden: the same for all clients
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, len(names) <= maxLearned
}

// selection returns the values that header h has for names.
func selection(h http.Header, names []string) []field {
	if len(names) == 0 {
		return nil
	}
	vary := make([]field, len(names))
	for i, name := range names {
		vary[i] = field{name, []string{rules.VaryValue(name, h)}}
	}
	return vary
}

// selects reports whether the page answers a request with header h: all headers that it varies
// on, besides those in its key, have the same values.
func (p *page) selects(h http.Header) bool {
	for _, f := range p.Vary {
		if len(f.Values) != 1 || f.Values[0] != rules.VaryValue(f.Name, h) {
			return false
		}
	}
	return true
}

// names returns the headers that the page varies on besides those in its key.
func (p *page) names() []string {
	names := make([]string, len(p.Vary))
	for i, f := range p.Vary {
		names[i] = f.Name
	}
	return names
}

// variant returns the key of a variant of t, which all clients with these values share. It
// reports false if a value identifies a client, or if the key is too long.
func (c *Cache) variant(t *target, vary []field) (id string, ok bool) {
	var b strings.Builder
	b.WriteString(t.key)
	for _, f := range vary {
		if f.Values[0] != "" && slices.Contains(c.cfg.Credentials, f.Name) {
			return "", false
		}
		b.WriteByte('|')
		b.WriteString(strings.ToLower(f.Name))
		b.WriteByte('=')
		b.WriteString(readable(url.QueryEscape(f.Values[0])))
	}
	id = b.String()
	return id, c.fits(id)
}
