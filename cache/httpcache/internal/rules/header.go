package rules

import (
	"net/http"
	"slices"
	"strings"
)

// Canonical returns a copy of h with canonical names. A handler that writes to the map itself may
// use another spelling, and Set-Cookie in any spelling is Set-Cookie.
func Canonical(h http.Header) http.Header {
	c, n := make(http.Header, len(h)), 0
	for _, values := range h {
		n += len(values)
	}
	room := make([]string, n) // one for all values
	for name, values := range h {
		k := copy(room, values)
		values, room = room[:k:k], room[k:]
		name = http.CanonicalHeaderKey(name)
		if old, ok := c[name]; ok {
			values = append(slices.Clip(old), values...)
		}
		c[name] = values
	}
	return c
}

// Has reports whether a header is present.
func Has(h http.Header, name string) bool { return len(h[name]) > 0 }

// Size returns the length of a header: of its names and values.
func Size(h http.Header) (n int) {
	for name, values := range h {
		n += len(name)
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}

// Lists reports whether one of the comma-separated elements of a header is name, without regard
// to case and parameters.
func Lists(lines []string, name string) bool {
	for _, line := range lines {
		for e := range strings.SplitSeq(line, ",") {
			e, _, _ = strings.Cut(e, ";")
			if strings.EqualFold(strings.TrimSpace(e), name) {
				return true
			}
		}
	}
	return false
}

// Joined returns the lines of a header as one list.
func Joined(lines []string) string {
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return lines[0]
	}
	return strings.Join(lines, ", ")
}

// DropHopByHop removes headers that are about one connection (RFC 9110 §7.6.1).
func DropHopByHop(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate",
		"Proxy-Authorization", "Proxy-Authentication-Info", "Te", "Transfer-Encoding", "Upgrade"} {
		delete(h, name)
	}
}

// BodyAllowed reports whether a response of that status can have a body.
func BodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// HeuristicallyCacheable reports whether HTTP defines a status as an answer about the resource, valid for every
// client (RFC 9110 §15.1: heuristically cacheable).
func HeuristicallyCacheable(status int) bool {
	switch status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo, http.StatusNoContent, http.StatusMultipleChoices,
		http.StatusMovedPermanently, http.StatusPermanentRedirect, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusGone, http.StatusRequestURITooLong:
		return true
	}
	return false
}

// Safe reports whether a method only reads (RFC 9110 §9.2.1): IANA's registry of methods calls it safe. An unknown
// method may write. A client may spell GET as "".
func Safe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
		"PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH":
		return true
	}
	return false
}
