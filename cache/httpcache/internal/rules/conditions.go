package rules

import (
	"net/http"
	"strings"
	"time"
)

// Stored is a stored response.
type Stored interface {
	Code() int              // its status
	Get(name string) string // the first value of a header, or ""
}

// NotModified reports whether the client of a GET or HEAD already has the response p (RFC 9110
// §13.2.2). If-None-Match decides if present, otherwise If-Modified-Since.
func NotModified(p Stored, h http.Header) bool {
	if p.Code() != http.StatusOK {
		return false // preconditions apply to successful responses only (RFC 9110 §13.2.1)
	}
	if lines := h["If-None-Match"]; len(lines) > 0 {
		return Matches(Joined(lines), p.Get("Etag"))
	}
	changed, ok := changedSince(p, h["If-Modified-Since"])
	return ok && !changed
}

// changedSince reports whether the response was changed after the date in the lines of a header. If
// that is unknown, ok is false.
func changedSince(p Stored, lines []string) (changed, ok bool) {
	if len(lines) != 1 {
		return false, false
	}
	since, err := http.ParseTime(lines[0])
	if err != nil {
		return false, false
	}
	m, err := http.ParseTime(p.Get("Last-Modified"))
	return m.Truncate(time.Second).After(since), err == nil
}

// Matches reports whether an If-None-Match list has "*" or names the validator, compared weakly.
// It reads the list up to the first syntax error.
func Matches(list, etag string) bool {
	weak := strings.TrimPrefix(etag, "W/")
	return lists(list, func(tag string) bool { return etag != "" && strings.TrimPrefix(tag, "W/") == weak })
}

// matchesStrongly is Matches for If-Match: a weak validator matches nothing.
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

// Leave304 removes from h what a 304 must not carry: metadata of the representation, except for
// the validator (RFC 9110 §15.4.5).
func Leave304(h http.Header) {
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Range"} {
		delete(h, name)
	}
	if Has(h, "Etag") {
		delete(h, "Last-Modified")
	}
}
