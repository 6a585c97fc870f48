// Package page extracts from an HTML page the fields of a feed item. It builds no tree, because
// hostile markup can turn 1 MB into a tree of gigabytes.
package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/twofold-go/twofold/examples/internal/dates"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
)

// ErrNotHTML means that the content is not an HTML page.
var ErrNotHTML = errors.New("page: not an HTML page")

const (
	maxTitle       = 300     // characters
	maxDescription = 1_000   // characters
	maxToken       = 1 << 20 // bytes of one tag or text; the rest of the page is ignored
	maxText        = 2 << 20 // bytes of all texts; the rest of the page is ignored
)

// Meta is the metadata of a page. Its texts are plain text. The date is in UTC, or zero.
type Meta struct {
	Title       string
	Description string
	Published   time.Time
	Hash        string // SHA-256 of title, description and content, in hexadecimal
}

// Parse reads a page. The title prefers the one for sharing, which lacks the site's name.
func Parse(body []byte, contentType string) (Meta, error) {
	if !looksLikeHTML(body, contentType) {
		return Meta{}, ErrNotHTML
	}
	text, err := (fetch.Response{Body: body, ContentType: contentType}).Text()
	if err != nil {
		return Meta{}, fmt.Errorf("page: %w", err)
	}
	p := read(text)
	m := Meta{
		Title:       first(maxTitle, p.named["og:title"], p.text(atom.Title), p.text(atom.H1)),
		Description: first(maxDescription, p.named["og:description"], p.named["description"]),
	}
	for _, name := range publication {
		if m.Published.IsZero() {
			m.Published, _ = dates.Parse(p.named[name]) // an error comes with the zero time
		}
	}
	content := cmp.Or(p.text(atom.Article), p.text(atom.Main), p.text(atom.Body))
	hash := sha256.Sum256([]byte(strings.Join([]string{m.Title, m.Description, content}, "\x00")))
	m.Hash = hex.EncodeToString(hash[:])
	return m, nil
}

// looksLikeHTML trusts the content type. Without one, the body must begin like markup.
func looksLikeHTML(body []byte, contentType string) bool {
	if kind, _, err := mime.ParseMediaType(contentType); err == nil {
		return kind == "text/html" || kind == "application/xhtml+xml"
	}
	return bytes.HasPrefix(bytes.TrimLeft(body, "\xef\xbb\xbf \t\r\n"), []byte("<"))
}

var (
	publication = []string{"article:published_time", "datepublished", "dc.date", "date", "pubdate", "time"}
	kept        = []atom.Atom{atom.Title, atom.H1, atom.Article, atom.Main}                                   // their first text
	aside       = []atom.Atom{atom.Head, atom.Nav, atom.Header, atom.Footer, atom.Aside, atom.Form}           // not content of the body
	hidden      = []atom.Atom{atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Textarea} // drawings have titles too
)

// reader counts the open elements of each name. That is enough for the elements here, which do not
// overlap on real pages.
type reader struct {
	named map[string]string // meta and time elements by name: the first that is not empty
	texts map[atom.Atom]*strings.Builder
	open  map[atom.Atom]int
	over  map[atom.Atom]bool // the first one has ended
}

func (p *reader) text(a atom.Atom) string {
	if b := p.texts[a]; b != nil {
		return feed.Line(b.String())
	}
	return ""
}

func (p *reader) within(names []atom.Atom) bool {
	return slices.ContainsFunc(names, func(a atom.Atom) bool { return p.open[a] > 0 })
}

func read(r io.Reader) *reader {
	p := &reader{map[string]string{}, map[atom.Atom]*strings.Builder{}, map[atom.Atom]int{}, map[atom.Atom]bool{}}
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxToken)
	for left := maxText; left > 0; {
		kind := z.Next()
		switch kind {
		case html.ErrorToken: // the end, or a token that is too long
			return p
		case html.TextToken:
			left -= p.add(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			a := atom.Lookup(name)
			if more && (a == atom.Meta || a == atom.Time) {
				p.name(z)
			}
			if kind == html.StartTagToken && (!p.within(hidden) || slices.Contains(hidden, a)) {
				p.open[a]++
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); p.open[a] > 0 && (!p.within(hidden) || slices.Contains(hidden, a)) {
				p.open[a]--
				p.over[a] = p.over[a] || p.open[a] == 0
			}
		case html.CommentToken, html.DoctypeToken: // hold nothing of the page
		}
	}
	return p
}

// add adds a text to the elements around it, and returns its length.
func (p *reader) add(text []byte) int {
	if p.within(hidden) {
		return 0
	}
	in := func(a atom.Atom) {
		if p.texts[a] == nil {
			p.texts[a] = &strings.Builder{}
		}
		p.texts[a].Write(text)
	}
	for _, a := range kept {
		if p.open[a] > 0 && !p.over[a] {
			in(a)
		}
	}
	if !p.within(aside) && p.open[atom.Title] == 0 {
		in(atom.Body)
	}
	return len(text)
}

// name keeps the content of a meta element, or the date of a time element.
func (p *reader) name(z *html.Tokenizer) {
	attrs := map[string]string{}
	for more := true; more; {
		var k, v []byte
		if k, v, more = z.TagAttr(); slices.Contains([]string{"property", "name", "itemprop", "content", "datetime", "pubdate"}, string(k)) {
			attrs[string(k)] = strings.TrimSpace(string(v))
		}
	}
	if _, is := attrs["pubdate"]; attrs["datetime"] != "" && (is || attrs["itemprop"] == "datePublished") {
		attrs = map[string]string{"name": "time", "content": attrs["datetime"]}
	}
	for _, by := range []string{"property", "name", "itemprop"} {
		name := strings.ToLower(attrs[by])
		if p.named[name] == "" && (slices.Contains(publication, name) || slices.Contains([]string{"og:title", "og:description", "description"}, name)) {
			p.named[name] = attrs["content"]
		}
	}
}

// first returns the first text that is not empty. It cuts the text to limit characters, at
// a space if there is one near the end.
func first(limit int, texts ...string) string {
	for _, t := range texts {
		if t = feed.Line(t); t != "" {
			r := []rune(t)
			if len(r) <= limit {
				return t
			}
			t = string(r[:limit-1])
			if i := strings.LastIndexByte(t, ' '); i > len(t)*3/4 {
				t = t[:i]
			}
			return t + "…"
		}
	}
	return ""
}
