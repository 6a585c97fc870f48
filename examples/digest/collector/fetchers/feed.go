package fetchers

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	ext "github.com/mmcdole/gofeed/extensions"
	"github.com/mmcdole/gofeed/rss"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

const acceptFeeds = "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.5"

// feedFetcher fetches RSS, Atom and JSON Feed; which of them, the answer says, and not
// the source's type.
type feedFetcher struct{ client }

func (f feedFetcher) Address(s Source) (string, error) { return s.url() }

func (f feedFetcher) Fetch(ctx context.Context, s Source) (Result, error) {
	addr, err := s.url()
	if err != nil {
		return Result{}, err
	}
	resp, err := f.ask(ctx, fetch.Request{URL: addr, Accept: acceptFeeds})
	if err != nil {
		return Result{}, err
	}
	r := result(s, resp)
	if r.NotModified {
		return r, nil
	}
	return r, readFeed(resp, &r)
}

// readFeed puts the items of a feed into r, and how often it wants to be read.
func readFeed(resp fetch.Response, r *Result) error {
	text, err := fetch.Text(resp.Body, resp.ContentType)
	if err != nil {
		return &parseError{"feed", err}
	}
	p := gofeed.NewParser()
	p.KeepOriginalFeed = true                                                     // for its ttl
	p.RSSTranslator = &gofeed.DefaultRSSTranslator{DisableContentImageScan: true} // images are not used
	feed, err := p.Parse(bytes.NewReader(text))
	if err != nil {
		return &parseError{"feed", err}
	}
	r.FreshFor = max(r.FreshFor, updateEvery(feed))
	guids := map[string]int{}
	for _, it := range feed.Items {
		guids[it.GUID]++
	}
	for _, it := range feed.Items[:min(len(feed.Items), MaxItems)] {
		item := feedItem(resp.URL, it)
		if item.GUID != "" && guids[it.GUID] > 1 {
			item.GUID += " " + item.URL // some feeds give all items one guid
		}
		r.Items = append(r.Items, item)
	}
	return nil
}

func feedItem(base string, it *gofeed.Item) Item {
	out := Item{GUID: cut(tidy(it.GUID), maxTitle), URL: webURL(base, it.Link), Title: line(plain(it.Title))}
	out.Content = plain(it.Content)
	if out.Content == "" {
		out.Content = plain(it.Description)
	}
	if out.Title == "" {
		first, _, _ := strings.Cut(out.Content, "\n")
		out.Title = cut(first, 120)
	}
	if len(it.Authors) > 0 {
		out.Author = line(it.Authors[0].Name)
	}
	for _, t := range []*time.Time{it.PublishedParsed, it.UpdatedParsed} {
		if t != nil && out.PublishedAt.IsZero() {
			out.PublishedAt = t.UTC()
		}
	}
	return out
}

// updateEvery returns how often a feed says that it is worth reading: by the ttl of
// RSS 2.0, or the updatePeriod and updateFrequency of the syndication module of RSS
// 1.0. 0: it does not say.
func updateEvery(feed *gofeed.Feed) time.Duration {
	if r, ok := feed.OriginalFeed().(*rss.Feed); ok {
		if n, err := strconv.ParseUint(strings.TrimSpace(r.TTL), 10, 20); err == nil && n > 0 {
			return time.Duration(n) * time.Minute
		}
	}
	sy := feed.Extensions["sy"]
	period := map[string]time.Duration{
		"hourly": time.Hour, "daily": 24 * time.Hour, "weekly": 7 * 24 * time.Hour,
		"monthly": 30 * 24 * time.Hour, "yearly": 365 * 24 * time.Hour,
	}[strings.ToLower(first(sy["updatePeriod"]))]
	times, err := strconv.ParseUint(first(sy["updateFrequency"]), 10, 20)
	if err != nil || times == 0 {
		times = 1
	}
	return period / time.Duration(min(times, math.MaxInt32))
}

func first(e []ext.Extension) string {
	if len(e) == 0 {
		return ""
	}
	return strings.TrimSpace(e[0].Value)
}
