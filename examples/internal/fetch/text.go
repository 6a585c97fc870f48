package fetch

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const sniffed = 64 << 10

// Text returns the content as UTF-8, without a byte order mark. It takes the charset from
// the first of these that gives one: the mark, the Content-Type, the XML declaration, UTF-8
// if the content is nearly valid, the HTML meta element. The last one is windows-1252, as in
// browsers. Bytes that the charset does not have become U+FFFD.
func (r Response) Text() (io.Reader, error) {
	body, err := r.Open()
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(body, sniffed)
	head, _ := b.Peek(sniffed) // on an error, Read returns it again
	return transform.NewReader(b, unicode.BOMOverride(encodingOf(head, r.ContentType).NewDecoder())), nil
}

func encodingOf(head []byte, contentType string) encoding.Encoding {
	_, params, _ := mime.ParseMediaType(contentType)
	labels := []string{params["charset"]}
	if m := xmlEncoding.FindSubmatch(head); m != nil {
		labels = append(labels, string(m[1]))
	}
	for _, label := range labels {
		if e := lookup(label); e != nil {
			return e
		}
	}
	if isUTF8(head) {
		return unicode.UTF8
	}
	e, _, _ := charset.DetermineEncoding(head, "")
	return e
}

// isUTF8 allows a rune that is cut off at the end, and bytes that are not UTF-8 if more runes need
// several bytes: one bad byte must not spell all other names wrongly. It refuses ISO-2022-JP,
// which has escapes but is valid UTF-8.
func isUTF8(b []byte) bool {
	bad, long := 0, 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case n > 1:
			long++
		case r == utf8.RuneError && (utf8.FullRune(b[i:]) || len(b) < sniffed):
			bad++
		}
		i += n
	}
	return (bad == 0 || bad < long) && bytes.IndexByte(b, 0x1b) < 0
}

// lookup finds an encoding by its label, nil if there is none. the label of UTF-16 without a mark lies.
func lookup(label string) encoding.Encoding {
	e, name := charset.Lookup(label)
	if name == "replacement" || strings.HasPrefix(name, "utf-16") {
		return nil
	}
	return e
}

var xmlEncoding = regexp.MustCompile(`^\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*["']\s*([A-Za-z0-9._:-]+)\s*["']`)
