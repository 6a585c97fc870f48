// Package xmltext reads the XML that sites serve, and says what XML may hold. Such XML often has characters that XML 1.0
// forbids, bytes that are not UTF-8, and undefined entities. A strict reader loses all that
// follows one of them.
package xmltext

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// Allowed reports whether XML 1.0 allows a character (section 2.2).
func Allowed(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= utf8.MaxRune
}

// Clean returns UTF-8 text without what XML forbids. It drops characters that are not [Allowed],
// also as references such as "&#8;". It replaces bytes that are not UTF-8 with U+FFFD.
func Clean(text io.Reader) io.Reader {
	forbidden := runes.Predicate(func(r rune) bool { return !Allowed(r) })
	return transform.NewReader(text, transform.Chain(runes.ReplaceIllFormed(), runes.Remove(forbidden), references{}))
}

// Text returns s without what XML forbids: for a text that is written as it is, such as CDATA. A
// reference is part of the text.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if !Allowed(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// longest is the greatest length of a reference. The "&" of a longer one becomes text.
const longest = 32

// references drops references to characters that are not allowed.
type references struct{ transform.NopResetter }

// Transform implements [transform.Transformer].
func (references) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		n := bytes.IndexByte(src[nSrc:], '&')
		if n < 0 {
			n = len(src) - nSrc
		}
		n = copy(dst[nDst:], src[nSrc:nSrc+n])
		nDst, nSrc = nDst+n, nSrc+n
		rest := src[nSrc:]
		if len(rest) == 0 {
			break
		}
		if rest[0] != '&' {
			return nDst, nSrc, transform.ErrShortDst
		}
		took, gives, whole := reference(rest)
		if !whole && !atEOF {
			return nDst, nSrc, transform.ErrShortSrc
		}
		if len(dst)-nDst < len(gives) {
			return nDst, nSrc, transform.ErrShortDst
		}
		nDst, nSrc = nDst+copy(dst[nDst:], gives), nSrc+took
	}
	return nDst, nSrc, nil
}

// reference reads what follows an "&". It returns how many bytes it read, what replaces them, and
// whether more bytes cannot change that.
func reference(s []byte) (took int, gives string, whole bool) {
	if len(s) < 2 || s[1] != '#' {
		return 1, "&", len(s) > 1
	}
	i, base := 2, 10
	if i < len(s) && (s[i] == 'x' || s[i] == 'X') {
		i, base = i+1, 16
	}
	digits := i
	for i < len(s) && i < longest && isDigit(s[i], base) {
		i++
	}
	switch {
	case i == longest:
		return 1, "&amp;", true
	case i == len(s):
		return 1, "&", false
	case s[i] != ';':
		return 1, "&", true
	}
	n, err := strconv.ParseUint(string(s[digits:i]), base, 32)
	if err != nil || n > utf8.MaxRune || !Allowed(rune(n)) {
		return i + 1, "", true
	}
	return i + 1, string(s[:i+1]), true
}

func isDigit(c byte, base int) bool {
	return c >= '0' && c <= '9' || base == 16 && (c|0x20 >= 'a' && c|0x20 <= 'f')
}

// LimitError means that one tag or text is too long.
type LimitError struct{ Most int }

// Error returns the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("xmltext: a tag or text of more than %d bytes", e.Most)
}

// Decoder reads the tokens of a text that [Clean] returned. It is not strict: bare ampersands are
// common. It ignores the charset of the declaration, because the text is UTF-8.
type Decoder struct {
	xml *xml.Decoder
	in  *metered
}

// NewDecoder returns a decoder that refuses tokens of more than maxToken bytes.
func NewDecoder(clean io.Reader, maxToken int) *Decoder {
	in := &metered{r: bufio.NewReader(clean), most: maxToken}
	d := xml.NewDecoder(in)
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	return &Decoder{d, in}
}

// Token returns the next token, as [xml.Decoder.RawToken] does.
func (d *Decoder) Token() (xml.Token, error) {
	d.in.n = 0
	return d.xml.RawToken()
}

// Offset returns the position in the text after the last token.
func (d *Decoder) Offset() int64 { return d.xml.InputOffset() }

// metered counts the bytes of a token: an endless one must not fill the memory.
type metered struct {
	r       *bufio.Reader
	n, most int
}

// ReadByte implements [io.ByteReader], which the decoder uses.
func (m *metered) ReadByte() (byte, error) {
	if m.n++; m.n > m.most {
		return 0, &LimitError{m.most}
	}
	return m.r.ReadByte()
}

// Read implements [io.Reader].
func (m *metered) Read(p []byte) (int, error) {
	if m.n >= m.most {
		return 0, &LimitError{m.most}
	}
	n, err := m.r.Read(p[:min(len(p), m.most-m.n)])
	m.n += n
	return n, err
}
