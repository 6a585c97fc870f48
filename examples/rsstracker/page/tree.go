package page

import (
	"io"
	"slices"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The limits of a page. The parser ignores what is beyond them.
const (
	maxTree  = 16 << 20  // approximate bytes of memory
	maxToken = 1 << 20   // bytes of one tag or text
	maxLD    = 256 << 10 // bytes of JSON-LD
	maxDepth = 512
)

const (
	nodeSize = 128
	attrSize = 64
)

// Elements of alone have no end tag. The next element of the same name ends an element of single.
var (
	alone  = []atom.Atom{atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Source, atom.Track, atom.Wbr}
	single = []atom.Atom{atom.P, atom.Li, atom.Dt, atom.Dd, atom.Tr, atom.Td, atom.Th, atom.Option}
)

// read parses a page without a browser's repairs, which can turn 1 MB into gigabytes.
func read(r io.Reader) *goquery.Document {
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxToken)
	root := &html.Node{Type: html.DocumentNode}
	open, left := []*html.Node{root}, maxTree
	for left > 0 {
		kind, top := z.Next(), open[len(open)-1]
		switch kind {
		case html.ErrorToken: // the end, or a token that is too long
			return goquery.NewDocumentFromNode(root)
		case html.TextToken:
			n := &html.Node{Type: html.TextNode, Data: string(z.Text())}
			left -= nodeSize + len(n.Data)
			top.AppendChild(n)
		case html.StartTagToken, html.SelfClosingTagToken:
			n := element(z, &left)
			if len(open) > 1 && top.Data == n.Data && slices.Contains(single, n.DataAtom) {
				open = open[:len(open)-1]
				top = open[len(open)-1]
			}
			top.AppendChild(n)
			if kind == html.StartTagToken && len(open) < maxDepth && !slices.Contains(alone, n.DataAtom) {
				open = append(open, n)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			for i := len(open) - 1; i > 0; i-- {
				if open[i].Data == string(name) {
					open = open[:i]
					break
				}
			}
		case html.CommentToken, html.DoctypeToken: // hold nothing of the page
		}
	}
	return goquery.NewDocumentFromNode(root)
}

func element(z *html.Tokenizer, left *int) *html.Node {
	name, more := z.TagName()
	n := &html.Node{Type: html.ElementNode, DataAtom: atom.Lookup(name), Data: string(name)}
	*left -= nodeSize + len(name)
	for more && *left > 0 {
		var k, v []byte
		k, v, more = z.TagAttr()
		n.Attr = append(n.Attr, html.Attribute{Key: string(k), Val: string(v)})
		*left -= attrSize + len(k) + len(v)
	}
	return n
}
