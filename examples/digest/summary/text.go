package summary

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/twofold-go/twofold/examples/internal/htmltext"
)

const maxText = 20_000

var (
	urls       = regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>]*`)
	paragraphs = regexp.MustCompile(`\n\s*\n`)
)

// plain returns the visible text of HTML or plain text. It drops addresses, because they
// would become links that are not of an item.
func plain(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	if strings.ContainsAny(s, "<&") {
		s = htmltext.Plain(strings.ReplaceAll(s, "\n", " "), "\n\n")
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

func line(s string) string { return strings.ReplaceAll(plain(s), "\n", " ") }

func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return r
	case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == '\u200b' || r == '\ufeff':
		return -1
	}
	return r
}

// The writer drops raw HTML. The policy catches what it misses, and images, forms and styles.
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

// HTML returns any digest as HTML that is safe to show.
func HTML(markdown string) (template.HTML, error) {
	var b bytes.Buffer
	if err := writer.Convert([]byte(markdown), &b); err != nil {
		return "", err
	}
	return template.HTML(allowed.SanitizeBytes(b.Bytes())), nil
}

// Models garble addresses and invent some.
var (
	link = regexp.MustCompile(`(!?)\[((?:[^\[\]\\]|\\.)*)\]` + // image or link, its text
		`\(\s*(<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)`) // to, title
	bare = regexp.MustCompile(`(?i)(?:\]\(|<)?(?:(?:https?|ftp)://|www\.)(?:[^\s<>"'()\[\]\\]|\([^\s<>"'()]*\))*>?`)
	tag  = regexp.MustCompile(`(?i)\\*<(?:https?://[^\s<>]*>|[a-z/!?])`)
)

// Some models begin with their thoughts. A server that strips the first tag leaves the last, on its
// own line. Thoughts without an end are an answer that was cut off before the text.
var thoughts = regexp.MustCompile(`(?is)\A\s*<(?:think|thinking|thought|reasoning)>.*?(?:</(?:think|thinking|thought|reasoning)>|\z)` +
	`|\A.*\n[ \t]*</(?:think|thinking|thought|reasoning)>[ \t\r]*(?:\n|\z)`)

// Check removes thoughts, images and all links that are not of an item, but keeps the words of these
// links.
func Check(markdown string, items []Item) (s Summary, err error) {
	c := checker{allowed: map[string]string{}}
	for _, it := range items {
		if to := destination(it.URL); to != "" {
			c.allowed[likeness(to)] = to
		}
	}
	s.Markdown = thoughts.ReplaceAllString(strings.ToValidUTF8(markdown, "\uFFFD"), "")
	for range maxNested {
		before := s.Markdown
		s.Markdown = strings.TrimSpace(bare.ReplaceAllStringFunc(link.ReplaceAllStringFunc(before, c.link), c.bare))
		if s.Markdown == before {
			break
		}
	}
	s.Markdown = tag.ReplaceAllStringFunc(s.Markdown, untag)
	s.Dropped = c.dropped
	if !strings.ContainsFunc(s.Markdown, wordy) {
		return s, ErrEmpty
	}
	if n := c.foreign(s.Markdown); n > 0 {
		return s, fmt.Errorf("%w: %d", ErrLinks, n)
	}
	s.Markdown += "\n"
	return s, nil
}

const maxNested = 5

type checker struct {
	allowed map[string]string // keyed by likeness
	dropped int
}

func (c *checker) link(s string) string {
	m := link.FindStringSubmatch(s)
	to, ok := c.allowed[likeness(strings.Trim(m[3], "<>"))]
	if m[1] == "!" || !ok {
		c.dropped++
		return m[2]
	}
	words := strings.TrimSpace(bare.ReplaceAllString(m[2], ""))
	if words == "" { // a link in the words of a link would be the one that opens
		words = escape(strings.TrimPrefix(to[strings.Index(to, "//")+2:], "www."))
	}
	return "[" + words + "](" + to + ")"
}

func (c *checker) bare(s string) string {
	s, inLink := strings.CutPrefix(s, "](")
	s = strings.Trim(s, "<>")
	address := strings.TrimRight(s, ".,;:!?。，；：！？、*_~`")
	to, ok := c.allowed[likeness(address)]
	switch {
	case !ok:
		c.dropped++
	case !inLink: // angle brackets end the address for every reader
		to = "<" + to + ">"
	}
	if inLink {
		to = "](" + to
	}
	return to + s[len(address):]
}

// untag escapes the beginning of a tag once. It leaves addresses in angle brackets.
func untag(s string) string {
	if strings.HasSuffix(s, ">") || strings.Index(s, "<")%2 == 1 {
		return s
	}
	return `\` + s
}

// reader also finds links without markup, as many readers do.
var reader = goldmark.New(goldmark.WithExtensions(extension.Linkify, extension.Table, extension.Strikethrough))

// foreign counts the links to other places that a reader of Markdown would still find.
func (c *checker) foreign(s string) (n int) {
	source := []byte(s)
	_ = ast.Walk(reader.Parser().Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		to, isLink := "", false
		switch v := node.(type) {
		case *ast.Image, *ast.RawHTML, *ast.HTMLBlock:
			isLink = true
		case *ast.Link:
			to, isLink = string(v.Destination), true
		case *ast.AutoLink: // a mail address in the text is not a web link
			to, isLink = string(v.URL(source)), v.AutoLinkType == ast.AutoLinkURL
		}
		if isLink && entering && (to == "" || c.allowed[likeness(to)] != to) {
			n++
		}
		return ast.WalkContinue, nil
	}) // the function never fails
	return n
}

func likeness(address string) string {
	u, err := url.Parse(strings.ReplaceAll(strings.TrimSpace(address), "&amp;", "&"))
	if err != nil || u.Host == "" {
		return "?" // not of an item
	}
	query := u.Query()
	for name := range query {
		if strings.HasPrefix(name, "utm_") {
			query.Del(name)
		}
	}
	host := strings.TrimPrefix(strings.ToLower(u.Host), "www.")
	return host + "/" + strings.Trim(u.Path, "/") + "?" + query.Encode()
}

const maxURL = 2000

// destination returns a URL as the destination of a Markdown link. It is empty if a digest does not
// link the URL.
func destination(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || len(s) > maxURL || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	u.User = nil // may be a password
	return delimiters.Replace(u.String())
}

var delimiters = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "[", "%5B", "]", "%5D",
	"\\", "%5C", " ", "%20", "\"", "%22", "'", "%27")

func wordy(r rune) bool {
	return r > 0x2e7f || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0xc0
}
