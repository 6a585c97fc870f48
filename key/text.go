package key

import (
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789ABCDEF"

// Text returns an id for s. It replaces some bytes by %XX in upper-case hex: '%', ':', '{', '}',
// space, control bytes (up to 0x20, and 0x7F) and bytes that are not valid UTF-8. No two strings
// have the same id, and [Unescape] returns s. If nothing needs escaping, Text returns s itself
// and does not allocate.
//
// The id of the empty string is empty, and [Space.Key] refuses it: a load of "" is nearly always
// a bug, and its result should not be cached.
func Text(s string) string {
	i := plain(s)
	if i == len(s) {
		return s
	}
	buf := make([]byte, 0, len(s)+2*8)
	for len(s) > 0 {
		buf = append(buf, s[:i]...)
		if s = s[i:]; len(s) > 0 {
			buf = append(buf, '%', hexDigits[s[0]>>4], hexDigits[s[0]&15])
			s = s[1:]
			i = plain(s)
		}
	}
	return string(buf)
}

// plain returns the length of the longest prefix of s that needs no escaping.
func plain(s string) int {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c <= ' ' || c == 0x7f || c == '%' || c == ':' || c == '{' || c == '}' {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

// Unescape returns the string whose id by [Text] is s. If there is none, it returns [ErrEscape]:
// s has a bad or lower-case escape, or an unescaped byte that Text escapes, or an escaped byte
// that Text does not escape. Therefore Text(Unescape(s)) is s too.
func Unescape(s string) (string, error) {
	if plain(s) == len(s) {
		return s, nil
	}
	buf := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			buf = append(buf, s[i])
			continue
		}
		if len(s)-i < 3 {
			return "", fieldError(ErrEscape, "id", s)
		}
		hi, lo := unhex(s[i+1]), unhex(s[i+2])
		if hi > 15 || lo > 15 {
			return "", fieldError(ErrEscape, "id", s)
		}
		buf = append(buf, hi<<4|lo)
		i += 2
	}
	// Calling Text again finds every wrong or missing escape, without a second copy of the rules.
	text := string(buf)
	if Text(text) != s {
		return "", fieldError(ErrEscape, "id", s)
	}
	return text, nil
}

// unhex returns the value of an upper-case hex digit, or more than 15 for any other byte.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// Int returns n in decimal, as an id.
func Int(n int64) string { return strconv.FormatInt(n, 10) }

// Uint returns n in decimal, as an id.
func Uint(n uint64) string { return strconv.FormatUint(n, 10) }
