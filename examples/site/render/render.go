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

// Both are safe for concurrent use. Goldmark drops raw HTML; the policy removes what
// goldmark may miss.
var (
	markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))
	policy   = bluemonday.UGCPolicy().AllowAttrs("class").Matching(regexp.MustCompile(`^language-[a-z0-9]+$`)).OnElements("code")
)

// Markdown returns text of any author as safe HTML.
func Markdown(text string) (template.HTML, error) {
	var b bytes.Buffer
	if err := markdown.Convert([]byte(text), &b); err != nil {
		return "", err
	}
	return template.HTML(policy.SanitizeBytes(b.Bytes())), nil
}
