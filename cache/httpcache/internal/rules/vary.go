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
