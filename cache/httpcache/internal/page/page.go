// Package page holds stored responses, and what each of them can say of itself: which requests it answers,
// how long it lives, its parts, its codings, and its line of Cache-Status.
package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/twofold-go/twofold/cache/httpcache/internal/coding"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Page is a stored response: whole, and for everybody. It does not change. Code outside the
// package sees only the bytes of its body, through Write, and must not change them.
type Page struct {
	Status int
	Header []Field // by name
	Body   []byte
	Format string // for the statistics

	Encodes bool                                             // send it encoded to clients that accept a coding
	codings [coding.Kinds]atomic.Pointer[weak.Pointer[Page]] `json:"-"` // the known codings of this page

	// With Pages, Made is when the handler was called, and the rest is zero.
	rules.Life
	Stale   int64   // how long after its freshness it is served while it is refreshed, in milliseconds
	IfError int64   // how long after its freshness it replaces a failure, in milliseconds
	Checked int64   // when its origin last confirmed it, in Unix milliseconds
	Vary    []Field // the request headers that it varies on, as the handler saw them
	URL     string  // as the handler saw it, if the key spells it in another way; for an audit

	// refused marks a page that is not a response. It tells waiting clients that each needs its
	// own response. It is never stored.
	refused reason.Reason `json:"-"`

	left bool `json:"-"` // see Left

	stamped atomic.Pointer[Stamp] `json:"-"` // of its last hit
}

// Field is a header with its values. An empty Values, unlike a missing field, keeps net/http from
// adding a Content-Type.
type Field struct {
	Name   string
	Values []string
}

// New makes a page of a response. It takes over header and body. With handler set, it adds what net/http
// adds to a handler's response. If validate is set, it adds a validator if there is none.
func New(status int, header http.Header, body []byte, handler, validate bool) *Page {
	if validate {
		delete(header, "Date") // net/http dates each answer when it is sent
	}
	rules.DropHopByHop(header)
	if handler && len(body) > 0 && !rules.Has(header, "Content-Encoding") {
		if _, ok := header["Content-Type"]; !ok {
			header.Set("Content-Type", http.DetectContentType(body))
		}
	}
	if handler && rules.BodyAllowed(status) {
		setLength(header, len(body))
	}
	if validate && status == http.StatusOK && !rules.Has(header, "Etag") {
		header["Etag"] = []string{etagOf(status, header, body)}
	}
	p := withRoom(len(header) + 1) // for a Date
	p.Status, p.Body = status, snug(body)
	for name, values := range header {
		if !strings.HasPrefix(name, http.TrailerPrefix) {
			p.Header = append(p.Header, Field{name, values})
		}
	}
	slices.SortFunc(p.Header, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// setLength sets Content-Length. Most often it is right already, and setting it would allocate.
func setLength(h http.Header, n int) {
	var room [20]byte
	if old := h["Content-Length"]; len(old) != 1 || old[0] != string(strconv.AppendInt(room[:0], int64(n), 10)) {
		h["Content-Length"] = []string{strconv.Itoa(n)}
	}
}

// small is a page with room for a few headers, in one allocation.
type small struct {
	Page
	room [6]Field
}

// withRoom returns a page with room for n headers.
func withRoom(n int) *Page {
	if n > len(small{}.room) {
		return &Page{Header: make([]Field, 0, n)}
	}
	s := new(small)
	s.Header = s.room[:0]
	return &s.Page
}

// snug returns body without much unused capacity, which a page would hold for nothing.
func snug(body []byte) []byte {
	if cap(body)-len(body) > len(body)/8 {
		return slices.Clone(body)
	}
	return body
}

// etagOf returns a strong validator: a hash of the representation, the same in every process.
func etagOf(status int, h http.Header, body []byte) string {
	sum := sha256.New()
	part := func(s string) {
		_, _ = sum.Write(strconv.AppendInt(nil, int64(len(s)), 10))
		_, _ = sum.Write([]byte{' '})
		_, _ = sum.Write([]byte(s))
	}
	part(strconv.Itoa(status))
	for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language"} {
		part(strings.Join(h[name], ", "))
	}
	_, _ = sum.Write(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum.Sum(nil)) + `"`
}

// Size returns about how many bytes the page takes.
func (p *Page) Size() int64 {
	if p == nil {
		return 0
	}
	n := int64(unsafe.Sizeof(*p)) + int64(cap(p.Body)) + int64(len(p.Format)) + int64(cap(p.Header))*int64(unsafe.Sizeof(Field{}))
	n += int64(cap(p.Vary)) * int64(unsafe.Sizeof(Field{}))
	for _, fields := range [...][]Field{p.Header, p.Vary} {
		for _, f := range fields {
			n += int64(len(f.Name)) + int64(cap(f.Values))*int64(unsafe.Sizeof(""))
			for _, v := range f.Values {
				n += int64(len(v))
			}
		}
	}
	return n
}

// Refusing returns a page that is not a response: each client needs its own.
func Refusing(why reason.Reason) *Page { return &Page{refused: why} }

// Refusal returns the reason why a page is not a response, or none.
func (p *Page) Refusal() reason.Reason { return p.refused }

// Left returns a copy of a page that a load leaves as it is, although an Expire may have made it stale. The copy
// leads to the variants of the page. It answers only a request that accepts it as stale, and it is never stored.
func (p *Page) Left() *Page {
	n := p.same()
	n.left = true
	return n
}

// IsLeft reports whether a page comes from Left.
func (p *Page) IsLeft() bool { return p.left }

// Sound reports whether a page can be sent. A page from a remote tier may be damaged.
func (p *Page) Sound() bool { return p != nil && p.Status >= 200 && p.Status <= 999 }

// Code returns the status.
func (p *Page) Code() int { return p.Status }

// Get returns the first value of a header, or "".
func (p *Page) Get(name string) string {
	for _, f := range p.Header {
		if f.Name == name && len(f.Values) > 0 {
			return f.Values[0]
		}
	}
	return ""
}

// Fill writes the page's header into h, as merge does, and a line of Cache-Status and an Age, if they are
// not empty. The values are copies, because the owner of h may change them. The copies share one slice:
// room, if it is long enough.
func (p *Page) Fill(h http.Header, room []string, line, age string) {
	n := 2
	for i := range p.Header {
		n += len(p.Header[i].Values)
	}
	if n > len(room) {
		room = make([]string, n)
	}
	empty := len(h) == 0 // most often: then there is nothing to join
	for i := range p.Header {
		f, k := &p.Header[i], 1
		if len(f.Values) == 1 {
			room[0] = f.Values[0] // faster than copy
		} else {
			k = copy(room, f.Values)
		}
		values := room[:k:k]
		if !empty {
			values = joinLists(f.Name, h[f.Name], values)
		}
		h[f.Name], room = values, room[k:]
	}
	room[0], room[1] = line, age
	switch inner := h["Cache-Status"]; {
	case line == "":
	case len(inner) > 0:
		h["Cache-Status"] = append(slices.Clip(inner), line)
	default:
		h["Cache-Status"] = room[0:1:1]
	}
	if age != "" {
		h["Age"] = room[1:2:2]
	}
}

// drop removes a header from a page that is being made.
func (p *Page) drop(name string) {
	p.Header = slices.DeleteFunc(p.Header, func(f Field) bool { return f.Name == name })
}

// put sets a header of a page that is being made.
func (p *Page) put(name string, values ...string) {
	i, ok := slices.BinarySearchFunc(p.Header, name, func(f Field, name string) int { return strings.Compare(f.Name, name) })
	if !ok {
		p.Header = slices.Insert(p.Header, i, Field{})
	}
	p.Header[i] = Field{name, values}
}

// maxSearched limits what Shows searches: the length of the body times the number of words.
const maxSearched = 32 << 20

// Shows reports whether the page has one of the words in its header or body, in small letters or
// capitals. It also reports true if the search would take too long.
func (p *Page) Shows(words []string) bool {
	switch {
	case len(words) == 0:
		return false
	case len(words)*len(p.Body) > maxSearched:
		return true
	}
	text := [][]byte{p.Body, bytes.ToLower(p.Body)} // bytes that are not UTF-8 differ
	for _, f := range p.Header {
		for _, v := range f.Values {
			text = append(text, []byte(v), []byte(strings.ToLower(v)))
		}
	}
	return slices.ContainsFunc(words, func(word string) bool {
		exact, small := []byte(word), []byte(strings.ToLower(word))
		return slices.ContainsFunc(text, func(b []byte) bool {
			return bytes.Contains(b, exact) || !bytes.Equal(small, exact) && bytes.Contains(b, small)
		})
	})
}
