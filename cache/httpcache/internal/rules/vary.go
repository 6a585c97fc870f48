package rules

import (
	"net/http"
	"slices"
	"strings"
)

// VaryLines returns the lines of Vary of a response that is encoded or not. An encoded one always
// varies on Accept-Encoding: a client that did not ask for the coding could not read it.
func VaryLines(h http.Header, encoded bool) []string {
	if lines := h["Vary"]; !encoded || Lists(lines, "Accept-Encoding") {
		return lines
	}
	return append(slices.Clip(h["Vary"]), "Accept-Encoding")
}

// emptyValue is the value of a header that is present and empty. It differs from an absent header
// (RFC 9111 §4.1): without Accept-Encoding any coding is acceptable.
const emptyValue = " "

// VaryValue returns the value by which the lines of a header select a variant. It is the same for
// different spellings of one value.
func VaryValue(name string, lines []string) string {
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

// maxLearned is how many request headers a response may vary on besides those in its key.
const maxLearned = 8

// Learned returns the request headers that a response with header h varies on and that are not in its
// key, sorted and unique. Keyed reports whether a header needs no variant. It reports false for a
// response that no key can describe.
func Learned(h http.Header, encoded bool, keyed func(name string) bool) (names []string, ok bool) {
	for _, line := range VaryLines(h, encoded) {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			switch {
			case name == "", name == "Host", slices.Contains(names, name): // the host is in every key
			case name == "*", !IsToken(name), UnsafeToVary(name):
				return nil, false
			case keyed(name):
			case len(names) == maxLearned: // a longer list would take long to compare
				return nil, false
			default:
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, true
}

// UnsafeToVary reports whether a header decides how a response is sent, not what is in it.
func UnsafeToVary(name string) bool {
	switch name {
	case "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
		"Connection", "Upgrade", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Expect":
		return true
	}
	return false
}
