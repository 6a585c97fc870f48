package address

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// MaxQuery is the longest query in a key, in bytes.
const MaxQuery = 4096

// Form returns the one form that all queries with the same parameters share. It is sorted by
// name, keeps the order of values, is spelled as by url.Values.Encode, and leaves out the
// parameters that do not matter. A query that does not parse is not ok. A query with ";" is not ok
// either: some programs treat it as a separator, so its parameters are unclear.
func Form(raw string, keep func(name string) bool) (query string, ok bool) {
	if raw == "" || IsForm(raw, keep) {
		return raw, true
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

// IsForm reports whether a query is certainly what Form would return. Nearly every query
// is, so nothing needs to be parsed.
func IsForm(raw string, keep func(name string) bool) bool {
	last := ""
	for more := true; more; {
		var pair string
		pair, raw, more = strings.Cut(raw, "&")
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || name < last || strings.ContainsFunc(name, reserved) || strings.ContainsFunc(value, reserved) || !keep(name) {
			return false
		}
		last = name
	}
	return true
}

// Unkeyed returns what a page could show of the parameters of a query that do not matter: their names and
// values, also as they were escaped, and the words of the values. Each is there once.
func Unkeyed(raw string, keep func(name string) bool) (words []string) {
	for pair := range strings.SplitSeq(raw, "&") {
		if !drops(pair, keep) {
			continue
		}
		name, escaped, _ := strings.Cut(pair, "=")
		plain, _ := url.QueryUnescape(name)
		value, _ := url.QueryUnescape(escaped)
		for _, word := range slices.Concat([]string{name, plain, escaped, value, url.QueryEscape(value)}, strings.FieldsFunc(value, notInWord), strings.FieldsFunc(value, isASCII)) {
			if len(word) >= minWord {
				words = append(words, word)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func isASCII(r rune) bool { return r < utf8.RuneSelf }

// notInWord reports whether no word of ASCII has the rune.
func notInWord(r rune) bool { return !isASCII(r) || !rules.IsAlnum(byte(r)) }

// minWord is the length of the shortest word of a parameter that counts as shown by a page. Shorter ones
// are in any page.
const minWord = 3

// CutQuery returns a query without the parameters that do not matter. It spells the others as they
// came.
func CutQuery(raw string, keep func(name string) bool) string {
	var kept []string
	cut := false
	for pair := range strings.SplitSeq(raw, "&") {
		if drops(pair, keep) {
			cut = true
			continue
		}
		kept = append(kept, pair)
	}
	if !cut {
		return raw
	}
	return strings.Join(kept, "&")
}

// drops reports whether a part of a query is a parameter that does not matter. One that programs read differently
// matters: it has a bad escape, or ";", which some take for a separator.
func drops(pair string, keep func(name string) bool) bool {
	if pair == "" || strings.Contains(pair, ";") {
		return false
	}
	name, value, _ := strings.Cut(pair, "=")
	if name, err := url.QueryUnescape(name); err != nil || keep(name) {
		return false
	}
	_, err := url.QueryUnescape(value)
	return err == nil
}
