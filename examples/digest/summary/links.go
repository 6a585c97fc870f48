package summary

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Models garble addresses and make some up. Whatever looks like one in Markdown:
var (
	link = regexp.MustCompile(`(!?)\[((?:[^\[\]\\]|\\.)*)\]` + // image or link, its text
		`\(\s*(<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)`) // to, title
	definition = regexp.MustCompile(`(?m)^ {0,3}\[([^\[\]\n]+)\]:[ \t]*\n?[ \t]*(\S+)[^\n]*$`)
	angled     = regexp.MustCompile(`(?i)<([a-z][a-z0-9+.-]*:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>`)
	bare       = regexp.MustCompile(`(?i)(\]\(|<)?(\b|_)((?:https?|ftp)://|www\.)[^\s<>"')\]]*`) // emphasis by _ is no part of a word
	tag        = regexp.MustCompile(`(?i)\\*<(?:https?://[^\s<>]*>|[a-z/!?])`)
)

// Check returns the text with no link but to the items. One that leads nearly to an
// item, but for what [net/url] and trackers add to an address, leads there; of others
// the words remain. Images go, for looking at one tells its server who looked. Text that
// has other links even so is [ErrLinks], and text without words [ErrEmpty].
func Check(markdown string, items []Item) (s Summary, err error) {
	c := checker{allowed: map[string]string{}}
	for _, it := range items {
		if to := destination(it.URL); to != "" {
			c.allowed[likeness(to)] = to
		}
	}
	s.Markdown = strings.TrimSpace(strings.ToValidUTF8(markdown, "\uFFFD"))
	for range maxNested {
		before := s.Markdown
		s.Markdown = c.pass(s.Markdown)
		if s.Markdown == before {
			break
		}
	}
	s.Markdown = strings.TrimSpace(tag.ReplaceAllStringFunc(s.Markdown, untag))
	s.Dropped, s.Repaired = c.dropped, c.repaired
	if !strings.ContainsFunc(s.Markdown, wordy) {
		return s, ErrEmpty
	}
	if n := c.foreign(s.Markdown); n > 0 {
		return s, fmt.Errorf("%w: %d", ErrLinks, n)
	}
	s.Markdown += "\n"
	return s, nil
}

// maxNested is how often images in links in links are looked for.
const maxNested = 5

type checker struct {
	allowed           map[string]string // by likeness
	dropped, repaired int
}

// pass goes over the text once.
func (c *checker) pass(s string) string {
	s = replace(link, s, func(m []string) string {
		to, ok := c.lead(strings.Trim(m[3], "<>"))
		if m[1] == "!" || !ok {
			c.dropped++
			return m[2]
		}
		words := strings.TrimSpace(urls.ReplaceAllString(m[2], ""))
		if words == "" { // a link in a link's words would be the one that leads
			words = escape(strings.TrimPrefix(to[strings.Index(to, "//")+2:], "www."))
		}
		return "[" + words + "](" + to + ")"
	})
	s = replace(definition, s, func(m []string) string {
		to, ok := c.lead(strings.Trim(m[2], "<>"))
		if !ok {
			c.dropped++
			return ""
		}
		return "[" + m[1] + "]: <" + to + ">"
	})
	s = replace(angled, s, func(m []string) string {
		to, ok := c.lead(m[1])
		if !ok {
			c.dropped++
			return ""
		}
		return "<" + to + ">"
	})
	return replace(bare, s, func(m []string) string {
		if m[1] != "" { // seen above
			return m[0]
		}
		return m[2] + c.loose(m[0][len(m[2]):])
	})
}

// loose is an address that stands in the text by itself, perhaps at a sentence's end.
func (c *checker) loose(s string) string {
	address := strings.TrimRight(s, ".,;:!?。，；：！？、*_~`")
	to, ok := c.lead(address)
	if !ok {
		c.dropped++
		return s[len(address):]
	}
	return "<" + to + ">" + s[len(address):]
}

// lead returns where a link to an address is to lead.
func (c *checker) lead(address string) (to string, ok bool) {
	to, ok = c.allowed[likeness(address)]
	if ok && to != address {
		c.repaired++
	}
	return to, ok
}

// untag makes text of what begins a tag, unless it is that already, and leaves
// addresses in angles.
func untag(s string) string {
	if strings.HasSuffix(s, ">") || strings.Index(s, "<")%2 == 1 {
		return s
	}
	return `\` + s
}

// foreign counts what a reader of Markdown would still take for a link to elsewhere.
func (c *checker) foreign(s string) (n int) {
	source := []byte(s)
	_ = ast.Walk(reader.Parser().Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch v := node.(type) {
		case *ast.Image, *ast.RawHTML, *ast.HTMLBlock:
			n++
		case *ast.Link:
			n += c.other(string(v.Destination))
		case *ast.AutoLink:
			if v.AutoLinkType == ast.AutoLinkURL { // a mail address in the text leads nowhere
				n += c.other(string(v.URL(source)))
			}
		}
		return ast.WalkContinue, nil
	}) // the function never fails
	return n
}

func (c *checker) other(address string) int {
	if to, ok := c.allowed[likeness(address)]; ok && to == address {
		return 0
	}
	return 1
}

// reader also sees links that are not marked as such, as many readers do.
var reader = goldmark.New(goldmark.WithExtensions(extension.Linkify, extension.Table, extension.Strikethrough))

// likeness is the same for addresses that are meant to be one.
func likeness(address string) string {
	u, err := url.Parse(strings.ReplaceAll(strings.TrimSpace(address), "&amp;", "&"))
	if err != nil || u.Host == "" {
		return "?" // no item's
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

func wordy(r rune) bool {
	return r > 0x2e7f || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0xc0
}

// replace is ReplaceAllStringFunc with the groups of each match.
func replace(re *regexp.Regexp, s string, with func(m []string) string) string {
	return re.ReplaceAllStringFunc(s, func(match string) string { return with(re.FindStringSubmatch(match)) })
}
