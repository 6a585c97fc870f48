// Package page extracts from an HTML page the fields of a feed item.
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
	"github.com/twofold-go/twofold/examples/internal/htmltext"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
)

// ErrNotHTML means that the content is not an HTML page.
var ErrNotHTML = errors.New("page: not an HTML page")

const (
	maxTitle       = 300   // characters
	maxDescription = 1_000 // characters
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
	kept        = []atom.Atom{atom.Title, atom.H1, atom.Article, atom.Main}                         // their first text
	aside       = []atom.Atom{atom.Head, atom.Nav, atom.Header, atom.Footer, atom.Aside, atom.Form} // not content of the body
	hidden      = append([]atom.Atom{atom.Textarea}, htmltext.Unseen...)
)

// reader counts the open elements of each name. That is enough for the elements here, which do not
// overlap on real pages.
type reader struct {
	named map[string]string // meta and time elements by name: the first that is not empty
	texts map[atom.Atom]*strings.Builder
	open  map[atom.Atom]int
	over  map[atom.Atom]bool // the first one has ended
}

func read(r io.Reader) *reader {
	p := &reader{map[string]string{}, map[atom.Atom]*strings.Builder{}, map[atom.Atom]int{}, map[atom.Atom]bool{}}
	htmltext.Scan(r, hidden, func(t html.Token) {
		switch a := t.DataAtom; {
		case t.Type == html.TextToken:
			p.add(t.Data)
		case t.Type == html.EndTagToken && p.open[a] > 0:
			p.open[a]--
			p.over[a] = p.over[a] || p.open[a] == 0
		case a == atom.Meta || a == atom.Time:
			p.name(t)
		case t.Type == html.StartTagToken:
			p.open[a]++
		}
	})
	return p
}

func (p *reader) text(a atom.Atom) string {
	if b := p.texts[a]; b != nil {
		return feed.Line(b.String())
	}
	return ""
}

// add adds a text to the elements around it.
func (p *reader) add(text string) {
	in := func(a atom.Atom) {
		if p.texts[a] == nil {
			p.texts[a] = &strings.Builder{}
		}
		p.texts[a].WriteString(text)
	}
	for _, a := range kept {
		if p.open[a] > 0 && !p.over[a] {
			in(a)
		}
	}
	if !slices.ContainsFunc(aside, func(a atom.Atom) bool { return p.open[a] > 0 }) && p.open[atom.Title] == 0 {
		in(atom.Body)
	}
}

// name keeps the content of a meta element, or the date of a time element.
func (p *reader) name(t html.Token) {
	content := strings.TrimSpace(htmltext.Attr(t, "content"))
	if t.DataAtom == atom.Time {
		dated := slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "pubdate" })
		if at := htmltext.Attr(t, "datetime"); p.named["time"] == "" && (dated || htmltext.Attr(t, "itemprop") == "datePublished") {
			p.named["time"] = strings.TrimSpace(at)
		}
	}
	for _, by := range []string{"property", "name", "itemprop"} {
		name := strings.ToLower(strings.TrimSpace(htmltext.Attr(t, by)))
		if name != "" && p.named[name] == "" {
			p.named[name] = content
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
