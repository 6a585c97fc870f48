package httpcache

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxLearned is the most names of request headers that a response may vary on beside
// those of Config.Vary.
const maxLearned = 8

// learned returns the names of request headers that a response to t says it varies on, and
// that are not in its key: sorted, each once. It reports false for a response that no key
// can stand for.
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
			if !c.hides(name) && !slices.Contains(names, name) { // what is hidden is the same for all
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, len(names) <= maxLearned
}

// selection returns the values that a request's header has for names.
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

// selects reports whether a request with that header would have been answered by the page:
// all that the page varies on, beside what is in its key, is the same.
func (p *page) selects(h http.Header) bool {
	for _, f := range p.Vary {
		if len(f.Values) != 1 || f.Values[0] != varyValue(f.Name, h) {
			return false
		}
	}
	return true
}

// names returns the names that the page varies on, beside what is in its key.
func (p *page) names() []string {
	names := make([]string, len(p.Vary))
	for i, f := range p.Vary {
		names[i] = f.Name
	}
	return names
}

// emptyValue is the value of a header that is there and empty. It is another than that of
// one that is not there (RFC 9111 §4.1): without Accept-Encoding any coding will do.
const emptyValue = " "

// varyValue returns the value by which a header selects a variant. Values that differ in
// spelling alone are the same.
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

// plainAccept returns a list of what is accepted without spaces and in lower case, but for
// the values of parameters, in which case may count. A list with a quoted string stays as it is.
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

// wear gives a request's header the values that select a variant.
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

// variant returns the key of a variant of t: one that all have a part in who send these
// values. It reports false where a value would say who asks, and where the key is too long.
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
