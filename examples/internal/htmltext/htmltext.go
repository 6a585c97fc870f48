// Package htmltext reads the text of HTML. It builds no tree, because hostile markup can turn 43 KB into
// a tree of 300 MB: a parser repeats the open elements of a paragraph in each one that follows.
package htmltext

import (
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The size limits, in bytes.
const (
	maxToken = 1 << 20  // Scan stops at a longer token
	maxTag   = 64 << 10 // Scan skips a longer tag
)

// Unseen are the elements whose text a reader does not see.
var Unseen = []atom.Atom{atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg}

// inline elements do not end a line.
var inline = []atom.Atom{
	atom.A, atom.Abbr, atom.B, atom.Code, atom.Em, atom.Font, atom.I, atom.Img, atom.Mark, atom.S, atom.Small,
	atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.U, atom.Wbr,
}

// Scan visits each tag and text outside hidden elements.
func Scan(text io.Reader, hidden []atom.Atom, visit func(t html.Token)) {
	z := html.NewTokenizer(text)
	z.SetMaxBuf(maxToken)
	inside, depth := atom.Atom(0), 0 // the hidden element, and how many elements of that name are open
	for typ := z.Next(); typ != html.ErrorToken; typ = z.Next() {
		if typ != html.TextToken && len(z.Raw()) > maxTag {
			continue
		}
		t := z.Token()
		start := typ == html.StartTagToken
		switch {
		case inside == 0 && start && slices.Contains(hidden, t.DataAtom):
			inside, depth = t.DataAtom, 1
		case inside == 0:
			visit(t)
		case start && t.DataAtom == inside:
			depth++
		case typ == html.EndTagToken && t.DataAtom == inside:
			if depth--; depth == 0 {
				inside = 0
			}
		}
	}
}

// Write writes a text, or the end of a line for the tag of a block.
func Write(to *strings.Builder, t html.Token, end string) {
	if t.Type == html.TextToken {
		to.WriteString(t.Data)
	} else if !slices.Contains(inline, t.DataAtom) {
		to.WriteString(end)
	}
}

// Plain returns the text that a reader sees, with an end of a line around each block.
func Plain(s, end string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	var b strings.Builder
	Scan(strings.NewReader(s), Unseen, func(t html.Token) { Write(&b, t, end) })
	return b.String()
}

// Attr returns an attribute of a tag, "" if it has none of that name.
func Attr(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
