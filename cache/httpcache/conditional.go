package httpcache

import (
	"net/http"
	"strings"
	"time"
)

// notModified reports whether the client of a GET or HEAD already has the page (RFC 9110
// §13.2.2). If-None-Match decides if present, otherwise If-Modified-Since.
func (p *page) notModified(h http.Header) bool {
	if p.Status != http.StatusOK {
		return false // preconditions apply to successful responses only (RFC 9110 §13.2.1)
	}
	if lines := h["If-None-Match"]; len(lines) > 0 {
		return matches(joined(lines), p.get("Etag"))
	}
	changed, ok := p.changedSince(h["If-Modified-Since"])
	return ok && !changed
}

// changedSince reports whether the page was changed after the date in the lines of a header. If
// that is unknown, ok is false.
func (p *page) changedSince(lines []string) (changed, ok bool) {
	if len(lines) != 1 {
		return false, false
	}
	since, err := http.ParseTime(lines[0])
	if err != nil {
		return false, false
	}
	m, err := http.ParseTime(p.get("Last-Modified"))
	return m.Truncate(time.Second).After(since), err == nil
}

// matches reports whether an If-None-Match list has "*" or names the validator, compared weakly.
// It reads the list up to the first syntax error.
func matches(list, etag string) bool {
	weak := strings.TrimPrefix(etag, "W/")
	return lists(list, func(tag string) bool { return etag != "" && strings.TrimPrefix(tag, "W/") == weak })
}

// matchesStrongly is matches for If-Match: a weak validator matches nothing.
func matchesStrongly(list, etag string) bool {
	return lists(list, func(tag string) bool { return tag[0] == '"' && tag == etag })
}

// lists reports whether a list of validators has "*" or one for which same is true.
func lists(list string, same func(tag string) bool) bool {
	for {
		list = strings.TrimLeft(list, " \t,")
		if list == "" {
			return false
		}
		if list[0] == '*' {
			return true
		}
		tag, rest, ok := cutETag(list)
		if !ok {
			return false
		}
		if same(tag) {
			return true
		}
		list = rest
	}
}

// cutETag cuts off the validator (RFC 9110 §8.8.3) that s begins with.
func cutETag(s string) (tag, rest string, ok bool) {
	start := len(s) - len(strings.TrimPrefix(s, "W/"))
	if start >= len(s) || s[start] != '"' {
		return "", "", false
	}
	for i := start + 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[:i+1], s[i+1:], true
		case c <= ' ' || c == 0x7f:
			return "", "", false
		}
	}
	return "", "", false
}

// leave304 removes from h what a 304 must not carry: metadata of the representation, except for
// the validator (RFC 9110 §15.4.5).
func leave304(h http.Header) {
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Range"} {
		delete(h, name)
	}
	if has(h, "Etag") {
		delete(h, "Last-Modified")
	}
}

// Conditional answers conditional requests for next as a Cache would, without storing anything. A
// response to a GET that a Cache would store gets a validator and a length. A client that already
// has it gets a 304. A Cache with Off and UntilInvalidated does the same.
func Conditional(next http.Handler) http.Handler {
	c, err := New(Config{Off: true, Lifetime: UntilInvalidated})
	if err != nil { // impossible: the Config is valid
		return next
	}
	return c.Handler(next)
}
