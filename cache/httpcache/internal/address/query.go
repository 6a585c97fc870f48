package address

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// maxQuery is the longest query that is parsed, in bytes.
const maxQuery = 4096

// Normalize returns the one form that all queries with the same meaning share. It is sorted by
// name, keeps the order of values, is spelled as by url.Values.Encode, and leaves out the
// parameters that do not matter. A query that does not parse is not ok. A query with ";" is not ok
// either: some programs treat it as a separator, so its meaning is unclear.
func Normalize(raw string, keep func(name string) bool) (query string, ok bool) {
	if raw == "" || IsNormal(raw, keep) {
		return raw, true
	}
	if len(raw) > maxQuery {
		return "", false
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

// IsNormal reports whether a query is certainly what normalize would return. Nearly every query
// is, so nothing needs to be parsed.
func IsNormal(raw string, keep func(name string) bool) bool {
	if len(raw) > maxQuery {
		return false
	}
	last := ""
	for more := true; more; {
		var pair string
		pair, raw, more = strings.Cut(raw, "&")
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || name < last || !unreserved(name) || !unreserved(value) || !keep(name) {
			return false
		}
		last = name
	}
	return true
}

// unreserved reports whether s consists of characters that are never escaped.
func unreserved(s string) bool {
	for i := range len(s) {
		if !rules.IsAlnum(s[i]) && strings.IndexByte("-_.~", s[i]) < 0 {
			return false
		}
	}
	return true
}

// Unkeyed returns what a page could show of the parameters of a query that do not matter: their names and
// values, also as they were escaped, and the words of the values. Each is there once.
func Unkeyed(raw string, keep func(name string) bool) (words []string) {
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if pair == "" || err != nil || keep(plain) {
			continue
		}
		escaped := value
		value, _ = url.QueryUnescape(value)
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
	parts := strings.Split(raw, "&")
	for _, pair := range parts {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); pair == "" || err == nil && keep(plain) {
			kept = append(kept, pair)
		}
	}
	if len(kept) == len(parts) {
		return raw
	}
	return strings.Join(kept, "&")
}
