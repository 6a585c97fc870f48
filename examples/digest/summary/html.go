package summary

import (
	"bytes"
	"html/template"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// Both are safe for concurrent use once they are made. Raw HTML in Markdown is dropped
// by the one already; the other is for what the one may overlook, and knows nothing
// that a digest does not need: no images, no forms, no styles.
var (
	writer  = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))
	allowed = newPolicy()
)

func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "ul", "ol", "li", "blockquote", "pre", "code",
		"em", "strong", "del", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}

// HTML returns a digest, whoever wrote it, as HTML that is safe to show.
func HTML(markdown string) (template.HTML, error) {
	var b bytes.Buffer
	if err := writer.Convert([]byte(markdown), &b); err != nil {
		return "", err
	}
	return template.HTML(allowed.SanitizeBytes(b.Bytes())), nil
}
