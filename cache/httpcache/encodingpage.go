package httpcache

import (
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// minEncoded is the least body that is encoded, in bytes: a smaller one fits into one
// packet as it is.
const minEncoded = 1 << 10

// offer notes on a page that is being made whether it is sent encoded. Of one whose kind
// is, it says that it varies on what the client accepts, also when it is too short.
func (c *Cache) offer(p *page) {
	p.Encodes = false
	if len(c.cfg.Encodings) == 0 || !encodable(p) {
		return
	}
	p.Encodes = len(p.Body) >= minEncoded
	vary := p.values("Vary")
	if !names(vary, "Accept-Encoding") && !names(vary, "*") {
		p.put("Vary", append(slices.Clone(vary), "Accept-Encoding")...)
	}
}

// encodable reports whether a page is of a kind that is sent encoded. Its handler may
// have encoded it already, or may forbid it.
func encodable(p *page) bool {
	kind := p.get("Content-Type")
	if kind == "" || len(p.Body) == 0 || len(p.values("Content-Encoding")) > 0 || len(p.values("Content-Range")) > 0 {
		return false
	}
	d, _ := parseCacheControl(p.values("Cache-Control"))
	return !d.has("no-transform") && gzhttp.DefaultContentTypeFilter(kind)
}

// encoded returns the page in a coding, or a page of status 0 when that is not smaller.
// Old is what it may have been before; its body is taken over if it says that it is the
// same.
func (p *page) encoded(e *Encoding, old *page) *page {
	n := p.inCoding(e.kind)
	if tag := n.get("Etag"); old != nil && strings.HasPrefix(tag, `"`) && tag == old.get("Etag") {
		n.Body = old.Body
	} else {
		n.Body = e.pack(p.Body)
	}
	if len(n.Body) >= len(p.Body) || len(n.Body) == 0 {
		n.Status, n.Body = 0, nil
		n.Header = slices.DeleteFunc(n.Header, func(f field) bool { return f.Name != "Etag" })
		return n
	}
	n.put("Content-Length", strconv.Itoa(len(n.Body)))
	return n
}

// inCoding returns the header of the page in a coding, without a length and a body. What
// the header says of the bytes of the plain body is left out.
func (p *page) inCoding(k kind) *page {
	n := p.same()
	for _, name := range []string{"Content-Length", "Content-Md5", "Content-Digest", "Digest", "Repr-Digest"} {
		n.drop(name)
	}
	n.Body, n.Encodes = nil, false
	n.put("Content-Encoding", k.String())
	if tag := p.get("Etag"); tag != "" {
		n.put("Etag", encodedTag(tag, k))
	}
	return n
}

// isCodingOf reports whether the page is a plain one in a coding, or says that it is not sent in it.
func (p *page) isCodingOf(plain *page, k kind) bool {
	tag := plain.get("Etag")
	return p.Made == plain.Made && (tag == "" || encodedTag(tag, k) == p.get("Etag"))
}

// encodedTag returns the validator of a page in a coding. What is no validator stays as
// it is.
func encodedTag(tag string, k kind) string {
	if inner, ok := strings.CutSuffix(tag, `"`); ok && strings.Contains(inner, `"`) {
		return inner + "-" + k.String() + `"`
	}
	return tag
}

// same returns a page with the same content, whose header may be changed.
func (p *page) same() *page {
	return &page{
		Status: p.Status, Header: slices.Clone(p.Header), Body: p.Body, Made: p.Made, Format: p.Format, Encodes: p.Encodes,
		Fresh: p.Fresh, Stale: p.Stale, Asks: p.Asks, Strict: p.Strict, Vary: p.Vary,
	}
}

// values returns the values of a header.
func (p *page) values(name string) []string {
	for _, f := range p.Header {
		if f.Name == name {
			return f.Values
		}
	}
	return nil
}

// or returns the page, or plain when it says that it is not smaller.
func (p *page) or(plain *page) *page {
	if p.Status == 0 {
		return plain
	}
	return p
}
