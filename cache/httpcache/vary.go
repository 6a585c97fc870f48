package httpcache

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxLearned is how many request headers a response may vary on besides those of Config.Vary.
const maxLearned = 8

// learned returns the request headers that a response to t varies on and that are not in its key,
// sorted and unique. It reports false for a response that no key can describe.
func (c *Cache) learned(t *target, lines []string) (names []string, ok bool) {
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if name == "" || c.declares(t, name) {
				continue
			}
			if c.cfg.KeyOnly || c.cfg.until() || !isToken(name) || name == "*" {
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
		vary[i] = field{name, []string{varyValue(name, h)}}
	}
	return vary
}

// selects reports whether the page answers a request with header h: all headers that it varies
// on, besides those in its key, have the same values.
func (p *page) selects(h http.Header) bool {
	for _, f := range p.Vary {
		if len(f.Values) != 1 || f.Values[0] != varyValue(f.Name, h) {
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

// emptyValue is the value of a header that is present and empty. It differs from an absent header
// (RFC 9111 §4.1): without Accept-Encoding any coding is acceptable.
const emptyValue = " "

// varyValue returns the value by which a header selects a variant. It is the same for different
// spellings of one value.
func varyValue(name string, h http.Header) string {
	lines := h[name]
	if len(lines) == 0 {
		return ""
	}
	v := strings.TrimSpace(lines[0])
	if len(lines) > 1 {
		trimmed := make([]string, len(lines))
		for i, l := range lines {
			trimmed[i] = strings.TrimSpace(l)
		}
		v = strings.Join(trimmed, ", ")
	}
	if name == "Accept" || name == "Accept-Language" || name == "Accept-Encoding" {
		v = plainAccept(v)
	}
	if v == "" {
		return emptyValue
	}
	return v
}

// plainAccept returns an Accept list in lower case and without spaces. It keeps the case of
// parameter values, where case may count. A list with a quoted string stays as it is.
func plainAccept(v string) string {
	if strings.Contains(v, `"`) {
		return v
	}
	value := false
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t':
			return -1
		case '=':
			value = true
		case ',', ';':
			value = false
		}
		if !value && 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, v)
}

// wear sets the header values that select a variant.
func wear(h http.Header, vary []field) {
	for _, f := range vary {
		if len(f.Values) == 1 && f.Values[0] == "" {
			delete(h, f.Name)
			continue
		}
		h[f.Name] = make([]string, len(f.Values))
		for i, v := range f.Values {
			h[f.Name][i] = strings.TrimSpace(v)
		}
	}
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
