package sitemap

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html/charset"
)

// maxDepth is how deep elements may stand in each other. Those of sitemaps with all
// their extensions stand six deep; the decoder keeps every open one in memory.
const maxDepth = 64

// metered counts what the decoder has taken since the last token, so that a sitemap
// of one endless text cannot fill the memory.
type metered struct {
	*bufio.Reader
	n int
}

var errToken = fmt.Errorf("%w: a tag or text of more than %d bytes", ErrLimit, maxToken)

func (m *metered) ReadByte() (byte, error) {
	if m.n++; m.n > maxToken {
		return 0, errToken
	}
	return m.Reader.ReadByte()
}

func (m *metered) Read(p []byte) (int, error) {
	if m.n > maxToken {
		return 0, errToken
	}
	n, err := m.Reader.Read(p)
	m.n += n
	return n, err
}

// readXML reads any of the XML forms. The decoder is not strict, because sitemaps
// are not: bare ampersands in URLs are common. It expands no entities but the five,
// so there is nothing to blow up.
func readXML(r *bufio.Reader, out *sink) error {
	m := &metered{Reader: r}
	d := xml.NewDecoder(m)
	d.Strict = false
	d.CharsetReader = func(label string, input io.Reader) (io.Reader, error) {
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return input, nil // decode has seen to it
		}
		return charset.NewReaderLabel(label, input)
	}
	p := parser{out: out}
	for {
		t, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && p.shape == nil:
			return ErrEmpty
		case errors.Is(err, io.EOF):
			return fmt.Errorf("sitemap: cut off: %w", io.ErrUnexpectedEOF)
		case err != nil:
			return fmt.Errorf("sitemap: %w", err)
		}
		m.n = 0
		if done, err := p.token(t); done || err != nil {
			return err
		}
	}
}

// shape says where in one form of XML the entries are. Namespaces are not looked
// at, for many sitemaps have a wrong one or none; depth and prefix tell
// <image:loc> from <loc> well enough.
type shape struct {
	kind  Kind
	entry string               // element of an entry
	depth int                  // how deep it stands, the root being 1
	field map[string]fieldFunc // by name, with the prefix only where it matters
}

type fieldFunc func(*raw) *string

func loc(r *raw) *string       { return &r.loc }
func lastMod(r *raw) *string   { return &r.lastMod }
func published(r *raw) *string { return &r.published }
func title(r *raw) *string     { return &r.title }

var (
	siteFields = map[string]fieldFunc{"loc": loc, "lastmod": lastMod}
	pageFields = map[string]fieldFunc{"loc": loc, "lastmod": lastMod, "news:publication_date": published, "news:title": title}
	itemFields = map[string]fieldFunc{"link": loc, "title": title, "pubdate": published, "date": published}
	atomFields = map[string]fieldFunc{"title": title, "published": published, "updated": lastMod, "issued": published, "modified": lastMod}
)

// shapes are the forms by the name of the root.
var shapes = map[string]*shape{
	"urlset":       {URLSet, "url", 2, pageFields},
	"sitemapindex": {Index, "sitemap", 2, siteFields},
	"rss":          {Feed, "item", 3, itemFields},
	"rdf":          {Feed, "item", 2, itemFields},
	"feed":         {Feed, "entry", 2, atomFields},
}

// parser follows the tokens of one document.
type parser struct {
	out   *sink
	shape *shape // nil before the root
	depth int
	in    bool // an entry
	cur   raw
	field *string // that text belongs to, or nil
	at    int     // the depth of that field
}

// token takes the next token. It reports whether the root has ended; what follows
// it, trackers and comments, is not read.
func (p *parser) token(t xml.Token) (done bool, err error) {
	switch t := t.(type) {
	case xml.Directive:
		if p.shape == nil && len(t) > 12 && strings.EqualFold(string(t[:12]), "doctype html") || strings.EqualFold(string(t), "doctype html") {
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

func (p *parser) start(t xml.StartElement) error {
	p.depth++
	name := strings.ToLower(t.Name.Local)
	if p.shape == nil {
		if p.shape = shapes[name]; p.shape == nil {
			return notSitemap(name)
		}
		p.out.sum.Kind = p.shape.kind
		return nil
	}
	switch {
	case p.depth > maxDepth:
		return fmt.Errorf("%w: elements more than %d deep", ErrLimit, maxDepth)
	case p.depth == p.shape.depth && name == p.shape.entry:
		p.in, p.cur = true, raw{}
	case p.in && p.field == nil:
		p.open(t, name)
	}
	return nil
}

// notSitemap is the error for a document with that root.
func notSitemap(name string) error {
	if name == "html" || name == "head" || name == "body" {
		return ErrHTML
	}
	return fmt.Errorf("%w: its root is <%.40s>", ErrFormat, name)
}

// open looks whether an element of an entry is one of its fields.
func (p *parser) open(t xml.StartElement, name string) {
	space := strings.ToLower(t.Name.Space)
	news := p.depth > p.shape.depth+1 // in <news:news>
	switch {
	case space == "image" || space == "video" || space == "media" || space == "itunes":
		return // has locs, titles and dates of its own
	case news && name != "publication_date" && name != "title":
		return
	case news:
		name = "news:" + name
	case p.shape.kind == Feed && name == "link" && p.link(t):
		return
	}
	if f := p.shape.field[name]; f != nil {
		if s := f(&p.cur); *s == "" { // the first of several
			p.field, p.at = s, p.depth
		}
	}
}

// link takes the URL of an Atom link, which is an attribute.
func (p *parser) link(t xml.StartElement) bool {
	var href, rel string
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "href":
			href = a.Value
		case "rel":
			rel = a.Value
		}
	}
	if href == "" {
		return false
	}
	if p.cur.loc == "" && (rel == "" || rel == "alternate") {
		p.cur.loc = href
	}
	return true
}

// end closes the innermost element, whatever the tag is called: a page that does
// not close what it opened ends as a partial one.
func (p *parser) end() (done bool, err error) {
	if p.field != nil && p.depth == p.at {
		*p.field = strings.Join(strings.Fields(*p.field), " ")
		p.field = nil
	}
	if p.in && p.depth == p.shape.depth {
		p.in = false
		err = p.out.put(p.cur)
	}
	p.depth--
	return p.shape != nil && p.depth == 0, err
}
