// Package render turns Markdown into HTML that is safe to show.
package render

import (
	"bytes"
	"html/template"
	"regexp"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// Both are safe for concurrent use once they are made. Raw HTML in Markdown is
// dropped by the one already; the other is for what the one may overlook.
var (
	markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))
	policy   = newPolicy()
)

func newPolicy() *bluemonday.Policy {
	p := bluemonday.UGCPolicy()
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[a-z0-9]+$`)).OnElements("code")
	return p
}

// Markdown returns text, whoever wrote it, as HTML.
func Markdown(text string) (template.HTML, error) {
	var b bytes.Buffer
	if err := markdown.Convert([]byte(text), &b); err != nil {
		return "", err
	}
	return template.HTML(policy.SanitizeBytes(b.Bytes())), nil
}
