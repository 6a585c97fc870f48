package fetchers

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The longest texts that are kept, in bytes. A title is one line; content is for a
// summary, not for an archive.
const (
	maxTitle   = 500
	maxContent = 64 << 10
)

// plain returns the text of HTML. Elements that end a line end one here; scripts and
// styles are no text.
func plain(markup string) string {
	if !strings.ContainsAny(markup, "<&") {
		return tidy(markup)
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(markup))
	skip := atom.Atom(0)
	for b.Len() < 2*maxContent {
		switch z.Next() {
		case html.ErrorToken:
			return tidy(b.String())
		case html.TextToken:
			if skip == 0 {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			if skip == 0 && (tag == atom.Script || tag == atom.Style) {
				skip = tag
			}
			b.WriteString(space(tag))
		case html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			if tag == skip {
				skip = 0
			}
			b.WriteString(space(tag))
		default: // comments and doctypes
		}
	}
	return tidy(b.String())
}

// space is what stands between two texts with a tag between them: nothing within a
// word.
func space(tag atom.Atom) string {
	switch tag {
	case atom.A, atom.Abbr, atom.B, atom.Code, atom.Em, atom.Font, atom.I, atom.Mark, atom.S, atom.Small,
		atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.U, atom.Wbr:
		return ""
	case atom.P, atom.Div, atom.Br, atom.Li, atom.Tr, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6,
		atom.Blockquote, atom.Pre, atom.Section, atom.Article:
		return "\n"
	default:
		return " "
	}
}

// tidy returns s as lines without empty ones and without runs of space, in valid UTF-8
// and without control characters.
func tidy(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var lines []string
	for line := range strings.Lines(s) {
		words := strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		if len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return cut(strings.Join(lines, "\n"), maxContent)
}

// line is tidy for what stands in one line.
func line(s string) string {
	return cut(strings.ReplaceAll(tidy(s), "\n", " "), maxTitle)
}

// cut returns the first n bytes of s at most, in whole runes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n])
}
