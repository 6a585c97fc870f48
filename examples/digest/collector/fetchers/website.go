package fetchers

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/internal/htmltext"
)

type website struct{ page, feed fetcher }

// Address implements [Fetcher].
func (w website) Address(s Source) (string, error) { return w.page.Address(s) }

// Fetch implements [Fetcher]. If the page names no readable feed, it reads the page.
func (w website) Fetch(ctx context.Context, s Source) (Result, error) {
	resp, err := w.page.ask(ctx, s)
	if err != nil {
		return Result{}, err
	}
	text, _, err := text(resp)
	if err != nil {
		return Result{}, err
	}
	if feedAt(text) >= 0 {
		return w.feed.result(s, resp)
	}
	it, addr := readPage(text, resp.URL)
	if addr != "" {
		feed := w.feed
		feed.address = func(Source) (string, error) { return addr, nil }
		r, err := feed.Fetch(ctx, s)
		e, ok := errors.AsType[*fetch.StatusError](err)
		dead := ok && (e.Code == http.StatusNotFound || e.Code == http.StatusGone)
		if !dead && !errors.Is(err, ErrParse) {
			r.MovedTo = resp.MovedTo
			return r, err
		}
	}
	resp.Hash = it.GUID // hash of the text: the bytes change with every advertisement
	it.GUID = resp.URL + "#" + it.GUID[:16]
	page := w.page
	page.read = func(_ Source, _ fetch.Response, r *Result) error { r.Items = []Item{it}; return nil }
	return page.result(s, resp)
}

// readPage returns a page as an item, and the address of its feed. The guid is a hash of the text.
func readPage(text []byte, addr string) (it Item, feed string) {
	base, description, inTitle := addr, "", false
	var title, all strings.Builder
	menus := slices.Concat(htmltext.Unseen, []atom.Atom{atom.Nav, atom.Header, atom.Footer, atom.Aside, atom.Form})
	htmltext.Scan(bytes.NewReader(text), menus, func(t html.Token) {
		switch t.DataAtom {
		case atom.Base:
			base = cmp.Or(webURL(addr, htmltext.Attr(t, "href")), base)
		case atom.Link:
			typ, _, _ := strings.Cut(htmltext.Attr(t, "type"), ";")
			named := slices.Contains([]string{"application/rss+xml", "application/atom+xml"}, strings.ToLower(typ))
			if feed == "" && named && strings.EqualFold(htmltext.Attr(t, "rel"), "alternate") {
				feed = webURL(base, htmltext.Attr(t, "href"))
			}
		case atom.Meta:
			if name := htmltext.Attr(t, "property") + htmltext.Attr(t, "name"); name == "og:description" || name == "description" {
				description = cmp.Or(description, tidy(htmltext.Attr(t, "content")))
			}
		case atom.Title:
			inTitle = t.Type == html.StartTagToken && title.Len() == 0
		default:
			if inTitle {
				htmltext.Write(&title, t, "\n")
			} else {
				htmltext.Write(&all, t, "\n")
			}
		}
	})
	it = Item{URL: webURL(addr, addr), Title: line(title.String()), Content: cmp.Or(description, tidy(all.String()))}
	hash := sha256.Sum256([]byte(it.Title + "\n" + description + "\n" + tidy(all.String())))
	it.GUID = hex.EncodeToString(hash[:])
	return it, feed
}

func (s Source) trending() (string, error) {
	c := struct{ Language, Since string }{Since: "daily"}
	if err := s.config(&c); err != nil {
		return "", err
	}
	periods := []string{"daily", "monthly", "weekly"}
	if !slices.Contains(periods, c.Since) {
		return "", oneOf("since", periods)
	}
	path := "/trending"
	if c.Language != "" && c.Language != "all" {
		path += "/" + url.PathEscape(c.Language)
	}
	return path + "?since=" + c.Since, nil
}

func readTrending(_ Source, resp fetch.Response, r *Result) error {
	text, _, err := text(resp)
	if err != nil {
		return err
	}
	var it Item
	var about strings.Builder
	heading, paragraph := false, false
	htmltext.Scan(bytes.NewReader(text), htmltext.Unseen, func(t html.Token) {
		start := t.Type == html.StartTagToken
		switch t.DataAtom {
		case atom.Article:
			if owner, name, _ := strings.Cut(it.Title, "/"); owner != "" && name != "" && len(r.Items) < MaxItems {
				it.Content = tidy(about.String())
				r.Items = append(r.Items, it)
			}
			it, heading, paragraph = Item{}, false, false
			about.Reset()
		case atom.H2:
			heading = start
		case atom.P:
			paragraph = start && about.Len() == 0
		case atom.A:
			if name := strings.Trim(htmltext.Attr(t, "href"), "/"); start && heading && it.Title == "" {
				it = Item{GUID: "github:" + name, URL: webURL(resp.URL, "/"+name), Title: line(name)}
			}
		default:
			if paragraph {
				htmltext.Write(&about, t, "\n")
			}
		}
	})
	if len(r.Items) == 0 {
		return &ParseError{Missing: "it lists no repositories"}
	}
	return nil
}

// The size limits, in bytes. Longer texts are cut.
const (
	maxTitle   = 500
	maxContent = 64 << 10
	maxToken   = 1 << 20 // of XML and JSON
)

func plain(s string) string { return tidy(htmltext.Plain(s, "\n")) }

// tidy returns the lines of s that are not empty, without control characters and repeated spaces.
func tidy(s string) string {
	s = strings.ToValidUTF8(cut(s, 4*maxContent), "\uFFFD")
	var lines []string
	for line := range strings.Lines(s) {
		words := strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		if len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return cut(strings.Join(lines, "\n"), maxContent)
}

func line(s string) string { return cut(strings.ReplaceAll(tidy(s), "\n", " "), maxTitle) }

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n])
}
