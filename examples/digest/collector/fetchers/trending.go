package fetchers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// trending fetches the trending page of GitHub. There is no API for it: the page is
// scraped, and robots.txt obeyed.
type trending struct {
	client
	base string
}

var trendingPeriods = []string{"daily", "monthly", "weekly"}

func (f trending) Address(s Source) (string, error) {
	var c struct{ Language, Since string }
	if err := s.config(&c); err != nil {
		return "", err
	}
	since := cmp.Or(c.Since, "daily")
	if !slices.Contains(trendingPeriods, since) {
		return "", oneOf("since", trendingPeriods)
	}
	path := "/trending"
	if c.Language != "" && c.Language != "all" {
		path += "/" + url.PathEscape(c.Language)
	}
	return f.base + path + "?since=" + since, nil
}

// Fetch makes an item of each repository, once however long it trends. A page without
// any is an error: it is then not the page that this knows how to read.
func (f trending) Fetch(ctx context.Context, s Source) (Result, error) {
	addr, err := f.Address(s)
	if err != nil {
		return Result{}, err
	}
	resp, err := f.ask(ctx, fetch.Request{URL: addr, Accept: acceptPages, Robots: true})
	if err != nil {
		return Result{}, err
	}
	r := result(s, resp)
	r.MovedTo = "" // the address is not the source's
	if r.NotModified {
		return r, nil
	}
	text, err := fetch.Text(resp.Body, resp.ContentType)
	if err != nil {
		return r, &parseError{"page", err}
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(text))
	if err != nil {
		return r, &parseError{"page", err}
	}
	for _, row := range doc.Find("article.Box-row").EachIter() {
		name := strings.Trim(row.Find("h2 a[href], h1 a[href]").First().AttrOr("href", ""), "/")
		if owner, _, ok := strings.Cut(name, "/"); !ok || owner == "" {
			continue
		}
		r.Items = append(r.Items, Item{
			GUID: "github:" + name, URL: webURL(f.base, "/"+name), Title: line(name),
			Content: tidy(row.Find("p").First().Text()),
		})
	}
	if len(r.Items) == 0 {
		return r, &parseError{"trending page", errors.New("no repositories")}
	}
	return r, nil
}
