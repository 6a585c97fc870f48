package page

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"weak"

	"github.com/klauspost/compress/gzhttp"

	"github.com/twofold-go/twofold/cache/httpcache/internal/coding"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// minEncoded is the smallest body that is encoded, in bytes. A smaller one fits into one packet
// without it.
const minEncoded = 1 << 10

// Offer sets Encodes on a page that is being made. With coded set the cache has codings. Offer then adds
// Accept-Encoding to Vary for every page of an encodable kind, also when the page is too short.
func (p *Page) Offer(coded bool) {
	p.Encodes = false
	if !coded || len(p.Body) == 0 || !encodable(p) {
		return
	}
	p.Encodes = len(p.Body) >= minEncoded
	vary := p.values("Vary")
	if !rules.Lists(vary, "Accept-Encoding") && !rules.Lists(vary, "*") {
		p.put("Vary", append(slices.Clone(vary), "Accept-Encoding")...)
	}
}

// Mark is Offer for a response that goes on to its client while it is made.
func Mark(h http.Header, body []byte) {
	if rules.Lists(h["Vary"], "Accept-Encoding") || rules.Lists(h["Vary"], "*") {
		return
	}
	p := Page{Body: body}
	for name, values := range h {
		p.Header = append(p.Header, Field{name, values})
	}
	if p.Get("Content-Type") == "" && len(body) > 0 {
		p.Header = append(p.Header, Field{"Content-Type", []string{http.DetectContentType(body)}})
	}
	if encodable(&p) {
		h["Vary"] = append(slices.Clip(h["Vary"]), "Accept-Encoding")
	}
}

// encodable reports whether a page is of a kind that is sent encoded. The handler may have
// encoded it already, or may forbid it.
func encodable(p *Page) bool {
	kind := p.Get("Content-Type")
	if kind == "" || len(p.values("Content-Encoding")) > 0 || len(p.values("Content-Range")) > 0 {
		return false
	}
	d, _ := rules.ParseCacheControl(p.values("Cache-Control"))
	return !d.Has("no-transform") && gzhttp.DefaultContentTypeFilter(kind)
}

// Encoded returns the page in a coding, or a page of status 0 if the coding is not smaller. It
// reuses the body of old, the previous coding, if both have the same strong validator.
func (p *Page) Encoded(e *coding.Coding, old *Page) *Page {
	n := p.inCoding(e.Kind)
	if tag := n.Get("Etag"); old != nil && strings.HasPrefix(tag, `"`) && tag == old.Get("Etag") {
		n.Body = old.Body
	} else {
		n.Body = e.Pack(p.Body)
	}
	if len(n.Body) >= len(p.Body) || len(n.Body) == 0 {
		n.Status, n.Body = 0, nil
		n.Header = slices.DeleteFunc(n.Header, func(f Field) bool { return f.Name != "Etag" })
		return n
	}
	n.put("Content-Length", strconv.Itoa(len(n.Body)))
	return n
}

// inCoding returns the page in a coding, without length and body. It leaves out the headers that
// describe the bytes of the plain body.
func (p *Page) inCoding(k coding.Kind) *Page {
	n := p.same()
	for _, name := range []string{"Content-Length", "Content-Md5", "Content-Digest", "Digest", "Repr-Digest"} {
		n.drop(name)
	}
	n.Body, n.Encodes = nil, false
	n.put("Content-Encoding", k.String())
	if tag := p.Get("Etag"); tag != "" {
		n.put("Etag", encodedTag(tag, k))
	}
	return n
}

// IsCodingOf reports whether p was made by encoded from this version of plain.
func (p *Page) IsCodingOf(plain *Page, k coding.Kind) bool {
	tag := plain.Get("Etag")
	return p.Made == plain.Made && (tag == "" || encodedTag(tag, k) == p.Get("Etag"))
}

// encodedTag returns the validator of a page in a coding. An invalid one stays as it is.
func encodedTag(tag string, k coding.Kind) string {
	if inner, ok := strings.CutSuffix(tag, `"`); ok && strings.Contains(inner, `"`) {
		return inner + "-" + k.String() + `"`
	}
	return tag
}

// same returns a copy of the page whose header may be changed.
func (p *Page) same() *Page {
	return &Page{
		Status: p.Status, Header: slices.Clone(p.Header), Body: p.Body, Format: p.Format, Encodes: p.Encodes,
		Life: p.Life, Stale: p.Stale, IfError: p.IfError, Vary: p.Vary, URL: p.URL,
	}
}

func (p *Page) values(name string) []string {
	for _, f := range p.Header {
		if f.Name == name {
			return f.Values
		}
	}
	return nil
}

// Or returns the page, or plain if the page says that its coding is not smaller.
func (p *Page) Or(plain *Page) *Page {
	if p.Status == 0 {
		return plain
	}
	return p
}

// EncodedOnce returns a page in a coding for one client. The page is not fresh, so no entry keeps
// the coding.
func (p *Page) EncodedOnce(e *coding.Coding, request http.Header) *Page {
	if n := p.inCoding(e.Kind); rules.NotModified(n, request) {
		return n // a 304 has no body
	}
	return p.Encoded(e, nil).Or(p)
}

// Remember keeps a coding of the page, as long as something else holds it.
func (p *Page) Remember(n *Page, k coding.Kind) {
	m := weak.Make(n)
	p.codings[k].Store(&m)
}

// Coded returns the coding that the page remembers, or nil.
func (p *Page) Coded(k coding.Kind) *Page {
	if m := p.codings[k].Load(); m != nil {
		return m.Value()
	}
	return nil
}
