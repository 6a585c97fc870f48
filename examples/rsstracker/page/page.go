// Package page extracts from an HTML page the fields of a feed item.
package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"regexp"
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

// The errors that callers branch on.
var (
	ErrNotHTML = errors.New("page: not an HTML page")
	ErrContent = errors.New("page: nothing matches the content selector")
)

const (
	maxTitle       = 300
	maxDescription = 1_000
)

// Meta is the metadata of a page. Its texts are plain text. The date is in UTC, or zero.
type Meta struct {
	Title       string
	Description string
	Published   time.Time
	Hash        string // SHA-256 of title, description and content, in hexadecimal
}

// Parse reads a page. selector is CSS and selects the content. The title prefers the one
// for sharing, which lacks the site's name.
func Parse(body []byte, contentType, selector string) (Meta, error) {
	if !looksLikeHTML(body, contentType) {
		return Meta{}, ErrNotHTML
	}
	text, err := (fetch.Response{Body: body, ContentType: contentType}).Text()
	if err != nil {
		return Meta{}, fmt.Errorf("page: %w", err)
	}
	doc := read(text)
	doc.Find("svg").Remove() // drawings have titles too
	named, article := metas(doc), readLD(doc)
	m := Meta{
		Title:       first(maxTitle, named["og:title"], article["headline"], article["name"], doc.Find("title").First().Text(), doc.Find("h1").First().Text()),
		Description: first(maxDescription, named["og:description"], article["description"], named["description"]),
		Published: firstDate(named["article:published_time"], article["datePublished"], named["datepublished"], named["dc.date"], named["date"], named["pubdate"],
			doc.Find("time[pubdate], time[itemprop=datePublished]").AttrOr("datetime", "")),
	}
	content, err := content(doc, selector)
	if err != nil {
		return Meta{}, err
	}
	if selector != "" {
		m.Description = first(maxDescription, m.Description, content)
	}
	hash := sha256.New()
	for i, text := range []string{m.Title, m.Description, content} {
		_, _ = io.WriteString(hash, "\x00"[:min(i, 1)])
		_, _ = io.WriteString(hash, text)
	}
	m.Hash = hex.EncodeToString(hash.Sum(nil))
	return m, nil
}

// looksLikeHTML trusts the content type. Without one, the body must begin like markup.
func looksLikeHTML(body []byte, contentType string) bool {
	if kind, _, err := mime.ParseMediaType(contentType); err == nil {
		return kind == "text/html" || kind == "application/xhtml+xml"
	}
	return bytes.HasPrefix(bytes.TrimLeft(body, "\xef\xbb\xbf \t\r\n"), []byte("<"))
}

// metas returns the meta elements by name, for each name the first that is not empty.
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

var articles = regexp.MustCompile(`(Article|Posting|Report|Review|Recipe|Episode|VideoObject)\b`)

// readLD returns the texts of the first article in the page's JSON-LD.
func readLD(doc *goquery.Document) map[string]string {
	for _, s := range doc.Find(`script[type="application/ld+json"]`).EachIter() {
		var top any
		if text := s.Text(); len(text) > maxLD || json.Unmarshal([]byte(text), &top) != nil {
			continue
		}
		for queue := []any{top}; len(queue) > 0; queue = queue[1:] {
			switch v := queue[0].(type) {
			case []any:
				queue = append(queue, v...)
			case map[string]any:
				queue = append(queue, v["@graph"])
				if !articles.MatchString(fmt.Sprint(v["@type"])) {
					continue
				}
				texts := map[string]string{}
				for k, v := range v {
					texts[k], _ = v.(string)
				}
				return texts
			}
		}
	}
	return nil
}

func content(doc *goquery.Document, selector string) (string, error) {
	doc.Find("script, style, noscript, template").Remove()
	if selector != "" {
		at := doc.Find(selector)
		if at.Length() == 0 {
			return "", ErrContent // the selector does not fit this page
		}
		return feed.Line(at.Text()), nil
	}
	for _, s := range []string{"article", "main, [role=main]"} {
		if at := doc.Find(s).First(); at.Length() > 0 {
			return feed.Line(at.Text()), nil
		}
	}
	doc.Find("head, title, nav, header, footer, aside, form").Remove()
	return feed.Line(doc.Text()), nil
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

func firstDate(texts ...string) time.Time {
	for _, t := range texts {
		if d, err := sitemap.ParseDate(t); err == nil {
			return d
		}
	}
	return time.Time{}
}
