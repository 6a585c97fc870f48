package address

import (
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Normal returns an escaped path or query in the form that all equivalent ones share (RFC 3986 §6.2.2): escapes are
// in capitals, and no character is escaped that need not be. All else counts: the order of parameters, "+" and "%20",
// and an empty query. So do dot segments, which programs read differently. What has a bad escape stays as it is.
func Normal(s string) string {
	var b []byte
	done := 0 // how much of s is in b
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		c, ok := unescape(s[i:])
		switch {
		case !ok:
			return s
		case !reserved(rune(c)):
			b = append(append(b, s[done:i]...), c)
			done = i + 3
		case s[i+1] >= 'a' || s[i+2] >= 'a':
			b = append(append(b, s[done:i]...), strings.ToUpper(s[i:i+3])...)
			done = i + 3
		}
		i += 2
	}
	if done == 0 {
		return s
	}
	return string(append(b, s[done:]...))
}

// appendPlain spells a normal path or query as keys do. It writes "^" for the "%" of an escape, because the library
// would escape it again, and "^^7C" for a "|" that is not escaped, and so on for each character that no URI has. So
// no two are spelled alike, and none has a separator of the key.
func appendPlain(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		switch {
		case !reserved(rune(c)) || strings.IndexByte("!$&'()*+,;=:@/?[]", c) >= 0:
			b = append(b, c)
		case c == '%' && isEscape(s[i:]):
			b = append(b, '^')
		default:
			b = append(b, '^', '^', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return b
}

const hexDigits = "0123456789ABCDEF"

// reserved reports whether a character is not one of those that need no escape.
func reserved(c rune) bool {
	return c >= 0x80 || !rules.IsAlnum(byte(c)) && c != '-' && c != '_' && c != '.' && c != '~'
}

func isEscape(s string) bool {
	_, ok := unescape(s)
	return ok
}

// unescape returns the byte of the escape that s begins with.
func unescape(s string) (c byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}
	for _, digit := range []byte{s[1], s[2]} {
		switch {
		case '0' <= digit && digit <= '9':
			digit -= '0'
		case 'A' <= digit && digit <= 'F', 'a' <= digit && digit <= 'f':
			digit = digit&^0x20 - 'A' + 10
		default:
			return 0, false
		}
		c = c<<4 | digit
	}
	return c, true
}
