package rules

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Directives holds the directives of the Cache-Control lines of a message (RFC 9111 §5.2), in the order
// of the lines. A repeated directive is there several times.
type Directives []Directive

// Directive has its name in lower case. Without an argument it has "".
type Directive struct{ Name, Arg string }

// ParseCacheControl reads the lines of a Cache-Control header. It reports false if a part of them
// is not a directive. Then the meaning is unknown and the cache should not store the response. It
// returns the directives that it could read in both cases.
func ParseCacheControl(lines []string) (d Directives, ok bool) {
	return make(Directives, 0, 4).and(lines) // inlined, so most callers have the directives on their stack
}

func (d Directives) and(lines []string) (all Directives, ok bool) {
	ok = true
	for _, line := range lines {
		p := parser{s: line}
		for !p.end() {
			name, arg, good := p.directive()
			if name != "" {
				d = append(d, Directive{strings.ToLower(name), arg})
			}
			ok = ok && good
		}
	}
	return d, ok
}

// Has reports whether the directive is there.
func (d Directives) Has(name string) bool {
	return slices.ContainsFunc(d, func(e Directive) bool { return e.Name == name })
}

// Seconds returns the least argument of a directive, in seconds: if a sender contradicts itself,
// the most careful value counts. A number too large to count is a very long time (RFC 9111
// §1.2.2). It reports false if the directive is missing, or if an argument is not a number.
func (d Directives) Seconds(name string) (n int64, ok bool) {
	n = math.MaxInt32
	for _, e := range d {
		if e.Name != name {
			continue
		}
		v, readable := seconds(e.Arg)
		if !readable {
			return 0, false
		}
		n, ok = min(n, v), true
	}
	return n, ok
}

// Duration returns the least argument of a directive, 0 if it cannot be read, and instead if the
// directive is missing.
func (d Directives) Duration(name string, instead time.Duration) time.Duration {
	if !d.Has(name) {
		return AtMost(instead, MaxLifetime)
	}
	n, _ := d.Seconds(name)
	return time.Duration(n) * time.Second
}

// seconds reads a number of seconds (RFC 9111 §1.2.2).
func seconds(s string) (n int64, ok bool) {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int64(c-'0'), math.MaxInt32)
	}
	return n, s != ""
}

// parser reads one line.
type parser struct {
	s string
	i int
}

// end skips spaces and commas, and reports whether the line has ended.
func (p *parser) end() bool {
	for p.i < len(p.s) && strings.IndexByte(" \t,", p.s[p.i]) >= 0 {
		p.i++
	}
	return p.i == len(p.s)
}

// directive reads: token [ "=" ( token / quoted-string ) ]. At anything else it skips to the next
// comma and reports false.
func (p *parser) directive() (name, arg string, ok bool) {
	name, ok = p.token(), true
	if name != "" && p.i < len(p.s) && p.s[p.i] == '=' {
		p.i++
		if p.i < len(p.s) && p.s[p.i] == '"' {
			arg, ok = p.quoted()
		} else {
			arg = p.token()
			ok = arg != ""
		}
	}
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t') {
		p.i++
	}
	if name == "" || p.i < len(p.s) && p.s[p.i] != ',' {
		ok = false
		for p.i < len(p.s) && p.s[p.i] != ',' {
			p.i++
		}
	}
	return name, arg, ok
}

func (p *parser) token() string {
	start := p.i
	for p.i < len(p.s) && isTokenByte(p.s[p.i]) {
		p.i++
	}
	return p.s[start:p.i]
}

// quoted reads a quoted-string, in which a backslash quotes one character.
func (p *parser) quoted() (s string, ok bool) {
	var b strings.Builder
	for p.i++; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; c {
		case '"':
			p.i++
			return b.String(), true
		case '\\':
			if p.i++; p.i == len(p.s) {
				return b.String(), false
			}
			b.WriteByte(p.s[p.i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), false
}

// IsToken reports whether s is a token (RFC 9110 §5.6.2).
func IsToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isTokenByte(c byte) bool { return IsAlnum(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0 }

// IsAlnum reports whether c is an ASCII letter or digit.
func IsAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
