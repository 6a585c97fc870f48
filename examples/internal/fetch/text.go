package fetch

import (
	"bytes"
	"mime"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// Text returns body in UTF-8, without a byte order mark. The charset is, in this
// order: the byte order mark's; UTF-16 if it begins like markup in that; the
// Content-Type's; the XML declaration's; UTF-8 if that is what the bytes are; the
// one of an HTML meta element; windows-1252, as in browsers. A charset nobody
// knows counts as not given. What the charset cannot decode becomes U+FFFD.
//
// An XML declaration's encoding is changed to say UTF-8, so that a parser does not
// decode the text again. The result may share memory with body, which is not
// changed.
func Text(body []byte, contentType string) ([]byte, error) {
	e, body := encodingOf(body, contentType)
	if e == nil {
		if !utf8.Valid(body) {
			body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
		}
		return declareUTF8(body), nil
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		return nil, &Error{Kind: ErrEncoding, Err: err, Detail: "charset"}
	}
	return declareUTF8(text), nil
}

// encodingOf returns the encoding of a body, nil for UTF-8, and the body without
// its byte order mark.
func encodingOf(body []byte, contentType string) (encoding.Encoding, []byte) {
	for _, bom := range []struct{ mark, label string }{{"\xef\xbb\xbf", "utf-8"}, {"\xfe\xff", "utf-16be"}, {"\xff\xfe", "utf-16le"}} {
		if bytes.HasPrefix(body, []byte(bom.mark)) {
			e, _ := lookup(bom.label, true)
			return e, body[len(bom.mark):]
		}
	}
	wide := bytes.HasPrefix(body, []byte("<\x00")) || bytes.HasPrefix(body, []byte("\x00<"))
	if wide {
		label := "utf-16le"
		if body[0] == 0 {
			label = "utf-16be"
		}
		e, _ := lookup(label, true)
		return e, body
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		if e, ok := lookup(params["charset"], false); ok {
			return e, body
		}
	}
	if at := declared(body); at != nil {
		if e, ok := lookup(string(body[at[0]:at[1]]), false); ok {
			return e, body
		}
	}
	return guessed(body), body
}

// guessed returns the encoding of a body that says nothing, or says it in HTML.
// Bytes that are UTF-8 are believed before a meta element: by chance they rarely
// are. Only the escapes of ISO-2022-JP are UTF-8 as well.
//
// XML has no meta element, but the tokenizer that looks for one would find what a
// feed quotes.
func guessed(body []byte) encoding.Encoding {
	if utf8.Valid(body) && bytes.IndexByte(body, 0x1b) < 0 {
		return nil
	}
	name := "windows-1252"
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("<?xml")) {
		_, name, _ = charset.DetermineEncoding(body, "")
	}
	e, _ := lookup(name, false)
	return e
}

// lookup finds an encoding by its label; nil is UTF-8. A label of UTF-16 is
// believed only where the bytes look like that: what was legible enough to find
// the label, or begins with a plain "<", is not. The encodings that browsers
// replace by nothing are not given.
func lookup(label string, wide bool) (e encoding.Encoding, ok bool) {
	e, name := charset.Lookup(strings.TrimSpace(label))
	switch {
	case e == nil, name == "replacement", strings.HasPrefix(name, "utf-16") && !wide:
		return nil, false
	case name == "utf-8":
		return nil, true
	}
	return e, true
}

// xmlDeclaration matches the beginning of XML up to the value of its encoding.
var xmlDeclaration = regexp.MustCompile(`^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']\s*([A-Za-z0-9._:-]+)\s*["']`)

// declared returns where an XML declaration says its encoding, or nil.
func declared(text []byte) []int {
	m := xmlDeclaration.FindSubmatchIndex(text[:min(len(text), 1024)])
	if m == nil {
		return nil
	}
	return m[2:4]
}

// declareUTF8 makes an XML declaration true again.
func declareUTF8(text []byte) []byte {
	at := declared(text)
	if at == nil || strings.EqualFold(string(text[at[0]:at[1]]), "utf-8") {
		return text
	}
	return slices.Concat(text[:at[0]], []byte("UTF-8"), text[at[1]:])
}
