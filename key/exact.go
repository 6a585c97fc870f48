package key

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// exact prepares compact JSON for RFC 8785, whose canonical form must not lose anything; see
// [Hash]. It returns data itself if nothing has to be rewritten, which is nearly always.
func exact(data []byte) ([]byte, error) {
	var out []byte
	done := 0 // out replaces data[:done]
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			end, bad := scanString(data, i)
			if bad || doublyQuoted(data[i:end]) {
				return nil, ErrUTF8
			}
			if bytes.HasPrefix(data[i+1:], []byte(`\u0000`)) {
				out = append(append(out, data[done:i+1]...), `\u0000`...)
				done = i + 1
			}
			i = end
		case c == '-' || '0' <= c && c <= '9':
			end := scanNumber(data, i)
			switch number := string(data[i:end]); classify(number) {
			case wideInteger:
				out = append(append(out, data[done:i]...), `"\u0000int:`+number+`"`...)
				done = end
			case inexact:
				return nil, ErrNumber
			case double: // as it is
			}
			i = end
		default:
			i++
		}
	}
	if done == 0 {
		return data, nil
	}
	return append(out, data[done:]...), nil
}

// scanString returns the index after the string that starts at data[i]. If the string has the
// escape \ufffd, bad is true: json.Marshal replaces invalid UTF-8 by it. It writes a genuine
// U+FFFD unescaped.
func scanString(data []byte, i int) (end int, bad bool) {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			bad = bad || bytes.HasPrefix(data[i+1:], []byte("ufffd"))
			i++
		}
	}
	return min(i+1, len(data)), bad
}

// doublyQuoted reports whether the JSON string quoted contains a JSON string with \ufffd. A field
// tagged `json:",string"` turns invalid UTF-8 into such a string. A genuine string of this form is
// refused too. Refusing one odd key is better than two keys that share an entry.
func doublyQuoted(quoted []byte) bool {
	if !bytes.HasPrefix(quoted, []byte(`"\"`)) {
		return false
	}
	var inner string
	if json.Unmarshal(quoted, &inner) != nil {
		return false
	}
	end, bad := scanString([]byte(inner), 0)
	return bad && end == len(inner)
}

func scanNumber(data []byte, i int) (end int) {
	for ; i < len(data); i++ {
		switch c := data[i]; {
		case '0' <= c && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
		default:
			return i
		}
	}
	return i
}

type numberClass uint8

const (
	double      numberClass = iota // exactly a double
	wideInteger                    // an integer outside ±2⁵³
	inexact                        // a double would round it
)

// classify returns how a JSON number changes when it is read as a double.
func classify(number string) numberClass {
	const limit = "9007199254740992" // 2⁵³
	digits := strings.TrimPrefix(number, "-")
	if !strings.ContainsAny(digits, ".eE") {
		if len(digits) > len(limit) || len(digits) == len(limit) && digits > limit {
			return wideInteger
		}
		return double
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return inexact
	}
	gotDigits, gotExp := decimal(digits)
	if f == 0 { // zero, or an underflow
		if gotDigits != "" {
			return inexact
		}
		return double
	}
	wantDigits, wantExp := decimal(strconv.FormatFloat(f, 'e', -1, 64))
	if gotDigits != wantDigits || gotExp != wantExp {
		return inexact
	}
	return double
}

// decimal splits an unsigned JSON number into the digits d and the exponent e of 0.d·10ᵉ. d has
// no zero at either end.
func decimal(number string) (digits string, exp int) {
	number = strings.ToLower(number)
	mantissa, e, _ := strings.Cut(number, "e")
	if e != "" {
		exp, _ = strconv.Atoi(e) // out of range only if ParseFloat failed or returned 0
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+frac, "0")
	exp += len(whole) - (len(whole) + len(frac) - len(digits))
	return strings.TrimRight(digits, "0"), exp
}
