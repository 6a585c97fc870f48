package coding

import (
	"strings"
)

// Preferred returns the index in codings of the coding that an Accept-Encoding header prefers
// (RFC 9110 §12.5.3), or -1 for the plain body. Of equal weights the first coding wins, and a
// coding wins over the plain body. The plain body is for a client with no header or an empty one,
// and for a client that accepts nothing offered. An invalid element is skipped.
func Preferred(lines []string, codings []Coding) int {
	if len(lines) == 0 || len(codings) == 0 {
		return -1
	}
	const unsaid = -1
	said, other, plain := [Kinds]int{unsaid, unsaid}, unsaid, unsaid
	for _, line := range lines {
		for more := true; more; {
			var element string
			element, line, more = strings.Cut(line, ",")
			coding, q, ok := preference(element)
			if !ok {
				continue
			}
			switch {
			case coding == "*":
				other = q
			case strings.EqualFold(coding, "identity"):
				plain = q
			case strings.EqualFold(coding, "gzip"), strings.EqualFold(coding, "x-gzip"):
				said[OfGzip] = q
			case strings.EqualFold(coding, "zstd"):
				said[OfZstd] = q
			}
		}
	}
	best, most := -1, max(plain, 1)
	for i, e := range codings {
		q := said[e.Kind]
		if q == unsaid {
			q = other
		}
		if q > most || q == most && best < 0 {
			best, most = i, q
		}
	}
	return best
}

// preference reads an element of Accept-Encoding: a coding and its weight in thousandths.
func preference(element string) (coding string, q int, ok bool) {
	coding, weight, weighed := strings.Cut(element, ";")
	coding = strings.Trim(coding, " \t")
	if !weighed {
		return coding, 1000, coding != ""
	}
	weight = strings.Trim(weight, " \t")
	if len(weight) < 3 || weight[0]|0x20 != 'q' || weight[1] != '=' || coding == "" {
		return "", 0, false
	}
	q, ok = thousandths(weight[2:])
	return coding, q, ok
}

// thousandths reads a weight (RFC 9110 §12.4.2): 0 or 1, with at most three decimals.
func thousandths(s string) (n int, ok bool) {
	if s == "" || len(s) > 5 || s[0] != '0' && s[0] != '1' || len(s) > 1 && s[1] != '.' {
		return 0, false
	}
	n = int(s[0]-'0') * 1000
	unit := 100
	for i := 2; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n += int(s[i]-'0') * unit
		unit /= 10
	}
	return n, n <= 1000
}
