package summary

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxText is how much of an item is looked at, in bytes: the rest is rarely news.
const maxText = 20_000

var (
	urls       = regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>]*`)
	paragraphs = regexp.MustCompile(`\n\s*\n`)
)

// plain returns what a reader would see of HTML or text: paragraphs on lines of their
// own, and no addresses, which would be links that are no item's.
func plain(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	if strings.ContainsAny(s, "<&") {
		s = textOf(s)
	}
	s = strings.Map(visible, urls.ReplaceAllString(s, ""))
	var all []string
	for _, p := range paragraphs.Split(s, -1) {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, "\n")
}

// line is plain for what has to stand on one line.
func line(s string) string { return strings.ReplaceAll(plain(s), "\n", " ") }

// visible drops control characters and those that turn the direction of writing.
func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return r
	case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == '\u200b' || r == '\ufeff':
		return -1
	}
	return r
}

// textOf returns the text in HTML. Whatever is not inline begins a paragraph.
func textOf(s string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for hidden := 0; ; {
		switch z.Next() {
		case html.ErrorToken: // the end; broken HTML ends where it breaks
			return b.String()
		case html.TextToken:
			if hidden == 0 {
				b.WriteString(strings.ReplaceAll(string(z.Text()), "\n", " "))
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			if unseen[atom.Lookup(name)] {
				hidden++
			}
			b.WriteString(gap(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			if unseen[atom.Lookup(name)] {
				hidden = max(hidden-1, 0)
			}
			b.WriteString(gap(name))
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			b.WriteString(gap(name))
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

var (
	unseen = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true}
	inline = map[atom.Atom]bool{
		atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Cite: true, atom.Code: true, atom.Em: true, atom.Font: true,
		atom.I: true, atom.Img: true, atom.Kbd: true, atom.Mark: true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true,
		atom.Span: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.U: true, atom.Var: true, atom.Wbr: true,
	}
)

func gap(tag []byte) string {
	if inline[atom.Lookup(tag)] {
		return ""
	}
	return "\n\n"
}
