package fetchers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/mmcdole/gofeed"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

const acceptPages = "text/html, application/xhtml+xml, */*;q=0.5"

// feedTypes are the types of alternates that are feeds, best first. application/json
// is not among them: that is what WordPress calls its API.
var feedTypes = []string{"application/rss+xml", "application/atom+xml", "application/feed+json"}

// website fetches a page: the feed that it names, else the page itself as one item,
// which is a new one whenever the page says something else. A page is scraped, so
// robots.txt is obeyed; the feed that it offers to everybody is for everybody.
type website struct{ client }

func (w website) Address(s Source) (string, error) { return s.url() }

func (w website) Fetch(ctx context.Context, s Source) (Result, error) {
	addr, err := s.url()
	if err != nil {
		return Result{}, err
	}
	page, err := w.ask(ctx, fetch.Request{URL: addr, Accept: acceptPages, Robots: true})
	if err != nil {
		return Result{}, err
	}
	text, err := fetch.Text(page.Body, page.ContentType)
	if err != nil {
		return Result{}, &parseError{"page", err}
	}
	if gofeed.DetectFeedType(bytes.NewReader(text)) != gofeed.FeedTypeUnknown {
		r := result(s, page) // somebody gave a feed's address as a page's
		if r.NotModified {
			return r, nil
		}
		return r, readFeed(page, &r)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(text))
	if err != nil {
		return Result{}, &parseError{"page", err}
	}
	if feed := findFeed(page.URL, doc); feed != "" {
		if r, ok, err := w.feed(ctx, s, page, feed); ok {
			return r, err
		}
	}
	return pageResult(s, page, doc)
}

// feed fetches the feed that a page names. It reports false if there is none after
// all: a dead link should not hide the page.
func (w website) feed(ctx context.Context, s Source, page fetch.Response, addr string) (Result, bool, error) {
	resp, err := w.ask(ctx, fetch.Request{URL: addr, Accept: acceptFeeds})
	if e, ok := errors.AsType[*fetch.StatusError](err); ok && (e.Code == http.StatusNotFound || e.Code == http.StatusGone) {
		return Result{}, false, nil
	}
	if err != nil {
		return Result{}, true, err
	}
	r := result(s, resp) // the page around it may change as it likes
	r.MovedTo = page.MovedTo
	if r.NotModified {
		return r, true, nil
	}
	err = readFeed(resp, &r)
	return r, !errors.Is(err, ErrParse), err
}

// findFeed returns the feed that a page names as its alternate, empty if it names none.
func findFeed(base string, doc *goquery.Document) string {
	if href, ok := doc.Find("head base[href]").First().Attr("href"); ok {
		if b := webURL(base, href); b != "" {
			base = b
		}
	}
	for _, typ := range feedTypes {
		for _, link := range doc.Find("link[rel][href]").EachIter() {
			rel := strings.Fields(strings.ToLower(link.AttrOr("rel", "")))
			is, _, _ := strings.Cut(strings.ToLower(link.AttrOr("type", "")), ";")
			if strings.TrimSpace(is) == typ && slices.Contains(rel, "alternate") {
				if u := webURL(base, link.AttrOr("href", "")); u != "" {
					return u
				}
			}
		}
	}
	return ""
}

// pageResult is a page as one item. What it says is in the guid, so that each change
// is an item of its own, and a page that goes back to what it said is none. Markup,
// menus and scripts may change as they like.
func pageResult(s Source, page fetch.Response, doc *goquery.Document) (Result, error) {
	title := line(doc.Find("title").First().Text())
	meta := func(names ...string) string {
		for _, sel := range names {
			if v := tidy(doc.Find(sel).First().AttrOr("content", "")); v != "" {
				return v
			}
		}
		return ""
	}
	if t := meta(`meta[property="og:title"]`); t != "" {
		title = line(t)
	}
	description := meta(`meta[property="og:description"]`, `meta[name="description"]`)
	doc.Find("script, style, noscript, template, nav, header, footer, aside, form").Remove()
	body := doc.Find("main, article").First()
	if body.Length() == 0 {
		body = doc.Find("body")
	}
	inner, err := body.Html()
	if err != nil {
		return Result{}, &parseError{"page", err}
	}
	text := plain(inner)
	hash := sha256.Sum256([]byte(title + "\n" + description + "\n" + text))
	id := hex.EncodeToString(hash[:])

	r := result(s, page)
	r.Seen = parserVersion + ":" + id // not the bytes: they change with every advertisement
	if r.NotModified = r.Seen == s.Seen; r.NotModified {
		return r, nil
	}
	content := description
	if content == "" {
		content = text
	}
	r.Items = []Item{{GUID: page.URL + "#" + id[:16], URL: webURL(page.URL, page.URL), Title: title, Content: content}}
	return r, nil
}
