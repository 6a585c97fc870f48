package sitemap

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/twofold-go/twofold/examples/internal/xmltext"
)

// maxDepth limits the nesting of elements, because the parser keeps the name of every open one.
const maxDepth = 64

func readXML(r io.Reader, out *sink) error {
	d := xmltext.NewDecoder(r, maxToken)
	p := parser{out: out}
	for {
		t, err := d.Token()
		_, long := errors.AsType[*xmltext.LimitError](err)
		switch {
		case errors.Is(err, io.EOF) && out.sum.Kind == 0:
			return ErrEmpty
		case errors.Is(err, io.EOF):
			return fmt.Errorf("sitemap: truncated: %w", io.ErrUnexpectedEOF)
		case long:
			return fmt.Errorf("%w: %w", ErrLimit, err)
		case err != nil:
			return fmt.Errorf("sitemap: %w", err)
		}
		if done, err := p.token(t); done || err != nil {
			return err
		}
	}
}

type parser struct {
	out   *sink
	path  []string // the open elements below the root
	cur   raw
	field *string // the field that text is appended to, or nil
}

var roots = map[string]Kind{"urlset": URLSet, "sitemapindex": Index}

// token handles a token, and reports whether the root has ended.
func (p *parser) token(t xml.Token) (done bool, err error) {
	switch t := t.(type) {
	case xml.Directive:
		if strings.HasPrefix(strings.ToLower(string(t)), "doctype html") {
			return true, ErrHTML
		}
	case xml.StartElement:
		return false, p.start(t)
	case xml.CharData:
		if p.field != nil && len(*p.field)+len(t) <= maxField {
			*p.field += string(t)
		}
	case xml.EndElement:
		return p.end()
	}
	return false, nil
}

// start opens an element. It ignores namespaces, because many sitemaps have a wrong one.
func (p *parser) start(t xml.StartElement) error {
	name, space := strings.ToLower(t.Name.Local), strings.ToLower(t.Name.Space)
	if p.out.sum.Kind == 0 {
		p.out.sum.Kind = roots[name]
		switch {
		case name == "html" || name == "head" || name == "body":
			return ErrHTML
		case p.out.sum.Kind == 0:
			return fmt.Errorf("%w: its root is <%.40s>", ErrFormat, name)
		}
		return nil
	}
	// Images and videos have their own locs, titles and dates.
	if space == "image" || space == "video" {
		name = space + ":" + name
	}
	if p.path = append(p.path, name); len(p.path) > maxDepth {
		return fmt.Errorf("%w: elements more than %d deep", ErrLimit, maxDepth)
	}
	switch strings.Join(p.path, "/") {
	case "url", "sitemap":
		p.cur = raw{}
	case "url/loc", "sitemap/loc":
		p.open(&p.cur.loc)
	case "url/lastmod", "sitemap/lastmod":
		p.open(&p.cur.lastMod)
	case "url/news/publication_date":
		p.open(&p.cur.published)
	case "url/news/title":
		p.open(&p.cur.title)
	}
	return nil
}

func (p *parser) open(field *string) {
	if *field == "" {
		p.field = field
	}
}

// end closes the innermost element. It ignores the name of the tag.
func (p *parser) end() (done bool, err error) {
	if len(p.path) == 0 {
		return p.out.sum.Kind != 0, nil
	}
	if p.field != nil {
		*p.field = strings.Join(strings.Fields(*p.field), " ")
		p.field = nil
	}
	if len(p.path) == 1 && (p.path[0] == "url" || p.path[0] == "sitemap") {
		err = p.out.put(p.cur)
	}
	p.path = p.path[:len(p.path)-1]
	return false, err
}
