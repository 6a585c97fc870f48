// Package page reads what a feed wants to know of an HTML page: its title, its
// description, its date, and a fingerprint of its content.
package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

// The errors that callers branch on.
var (
	ErrNotHTML = errors.New("page: not an HTML page")
	ErrContent = errors.New("page: nothing matches the content selector")
)

// The longest title and description that are taken, in characters.
const (
	maxTitle       = 300
	maxDescription = 1_000
)

// Meta is what is known of a page. Texts are plain, without markup, and "" where the
// page has none; dates are in UTC and zero where it has none.
type Meta struct {
	Title       string
	Description string
	Published   time.Time
	Modified    time.Time
	Hash        string // SHA-256 of title, description and content, in hexadecimal
}

// Parse reads a page. The content type is that of the answer, and may be empty. The
// selector is of CSS and says where the content is, whose beginning describes a page
// without a description; empty, the content is looked for, and describes nothing. Each
// field is taken from the first of Open Graph, JSON-LD and the plain elements that
// has it, for titles that are made for sharing lack the site's name.
//
// The hash leaves out scripts and, without a selector, what stands around the
// content. So a page whose menu has changed has not.
func Parse(body []byte, contentType, selector string) (Meta, error) {
	if !looksLikeHTML(body, contentType) {
		return Meta{}, ErrNotHTML
	}
	text, err := fetch.Text(body, contentType)
	if err != nil {
		return Meta{}, fmt.Errorf("page: %w", err)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(text))
	if err != nil {
		return Meta{}, fmt.Errorf("page: %w", err)
	}
	named, linked := metas(doc), readLD(doc)
	m := Meta{
		Title:       first(maxTitle, named["og:title"], linked.headline, doc.Find("head > title").First().Text(), doc.Find("h1").First().Text()),
		Description: first(maxDescription, named["og:description"], linked.description, named["description"]),
		Published: firstDate(named["article:published_time"], linked.published, named["datepublished"], named["dc.date"], named["dc.date.issued"],
			named["date"], named["pubdate"], doc.Find("time[pubdate], time[itemprop=datePublished]").AttrOr("datetime", "")),
		Modified: firstDate(named["article:modified_time"], named["og:updated_time"], linked.modified, named["last-modified"]),
	}
	content, err := content(doc, selector)
	if err != nil {
		return Meta{}, err
	}
	if m.Description == "" && selector != "" {
		m.Description = cut(content, maxDescription)
	}
	sum := sha256.Sum256([]byte(m.Title + "\x00" + m.Description + "\x00" + content))
	m.Hash = hex.EncodeToString(sum[:])
	return m, nil
}

// looksLikeHTML reports whether a body may be HTML. What servers say is believed;
// where they say nothing, the body has to begin like markup.
func looksLikeHTML(body []byte, contentType string) bool {
	if kind, _, err := mime.ParseMediaType(contentType); err == nil {
		return kind == "text/html" || kind == "application/xhtml+xml"
	}
	return bytes.HasPrefix(bytes.TrimLeft(body, "\xef\xbb\xbf \t\r\n"), []byte("<"))
}

// metas returns the contents of the meta elements by name, in lower case; of several
// with one name the first that is not empty.
func metas(doc *goquery.Document) map[string]string {
	all := map[string]string{}
	for _, m := range doc.Find("meta[content]").EachIter() {
		for _, attr := range []string{"property", "name", "itemprop"} {
			if name := strings.ToLower(m.AttrOr(attr, "")); name != "" && all[name] == "" {
				all[name] = strings.TrimSpace(m.AttrOr("content", ""))
			}
		}
	}
	return all
}

// content returns the text that a page is about.
func content(doc *goquery.Document, selector string) (string, error) {
	doc.Find("script, style, noscript, template").Remove()
	if selector != "" {
		at := doc.Find(selector)
		if at.Length() == 0 {
			return "", ErrContent // another page than the one that the selector was made for
		}
		return tidy(at.Text()), nil
	}
	at := doc.Find("article").First()
	if at.Length() == 0 {
		at = doc.Find("main, [role=main]").First()
	}
	if at.Length() == 0 {
		at = doc.Find("body")
		at.Find("nav, header, footer, aside, form").Remove()
	}
	return tidy(at.Text()), nil
}

// first returns the first text that is not empty, tidied and cut to max characters.
func first(limit int, texts ...string) string {
	for _, t := range texts {
		if t = tidy(t); t != "" {
			return cut(t, limit)
		}
	}
	return ""
}

// tidy makes one line of a text, of characters that XML allows.
func tidy(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// cut shortens a text to limit characters, at a space if there is one near.
func cut(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	s = string(r[:limit-1])
	if i := strings.LastIndexByte(s, ' '); i > len(s)*3/4 {
		s = s[:i]
	}
	return s + "…"
}

// firstDate returns the first text that is a date.
func firstDate(texts ...string) time.Time {
	for _, t := range texts {
		if d, err := sitemap.ParseDate(t); err == nil {
			return d
		}
	}
	return time.Time{}
}
