package fetchers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	"github.com/mmcdole/gofeed/rss"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// The feed parser builds a tree, which takes up to two hundred times as much memory as the text.
const (
	maxTags  = 20_000 // tags and attributes
	maxDepth = 64
)

func isFeed(text []byte) bool {
	typ := gofeed.DetectFeedType(bytes.NewReader(text[:min(len(text), 4<<10)]))
	return typ == gofeed.FeedTypeRSS || typ == gofeed.FeedTypeAtom
}

func readFeed(resp fetch.Response, r *Result) error {
	text, whole, err := text(resp)
	if err != nil {
		return err
	}
	if !isFeed(text) {
		return &parseError{errors.New("neither RSS nor Atom")}
	}
	if _, after, ok := bytes.Cut(text, []byte("?>")); ok && bytes.HasPrefix(bytes.TrimSpace(text), []byte("<?xml")) {
		text = after // it names the original charset
	}
	if text, err = cutFeed(text, whole); err != nil {
		return &parseError{err}
	}
	p := gofeed.NewParser()
	p.KeepOriginalFeed = true                                                     // for its ttl
	p.RSSTranslator = &gofeed.DefaultRSSTranslator{DisableContentImageScan: true} // images are not used
	feed, err := p.Parse(bytes.NewReader(text))
	if err != nil {
		return &parseError{err}
	}
	if f, ok := feed.OriginalFeed().(*rss.Feed); ok {
		minutes, _ := strconv.ParseUint(strings.TrimSpace(f.TTL), 10, 20) // missing or invalid: 0
		r.FreshFor = max(r.FreshFor, time.Duration(minutes)*time.Minute)  //nolint:gosec // it has 20 bits
	}
	guids := map[string]int{}
	for i, entry := range feed.Items {
		r.Items = append(r.Items, feedItem(resp.URL, entry))
		guids[r.Items[i].GUID]++
	}
	for i, it := range r.Items {
		if it.GUID != "" && guids[it.GUID] > 1 {
			r.Items[i].GUID += " " + it.URL // some feeds give all items one guid
		}
	}
	return nil
}

// feedItem turns an entry into an item. The first line of the content replaces a missing title.
func feedItem(base string, entry *gofeed.Item) Item {
	it := Item{
		GUID: cut(tidy(entry.GUID), maxTitle), URL: webURL(base, entry.Link), Title: line(plain(entry.Title)),
		Content: cmp.Or(plain(entry.Content), plain(entry.Description)),
	}
	if len(entry.Authors) > 0 {
		it.Author = line(entry.Authors[0].Name)
	}
	if it.Title == "" {
		first, _, _ := strings.Cut(it.Content, "\n")
		it.Title = cut(first, 120)
	}
	if at := cmp.Or(entry.PublishedParsed, entry.UpdatedParsed); at != nil {
		it.PublishedAt = at.UTC()
	}
	return it
}

func cutFeed(text []byte, whole bool) ([]byte, error) {
	text = bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r > 0xFFFD && r <= 0xFFFF {
			return -1 // XML does not allow it
		}
		return r
	}, text)
	in := &io.LimitedReader{R: bytes.NewReader(text)}
	d := xml.NewDecoder(in)
	d.Strict = false
	var open, around []xml.Name // the open elements, and those around the last item
	tags, items, end := 0, 0, int64(0)
	for {
		in.N = maxToken
		t, err := d.RawToken()
		whole = whole && in.N > 0
		if err == io.EOF && whole { //nolint:errorlint // as io.Reader has it
			return text, nil
		}
		if err != nil && whole {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			open, tags = append(open, t.Name), tags+1+len(t.Attr)
		case xml.EndElement:
			open = open[:max(len(open)-1, 0)]
			if t.Name.Local == "item" || t.Name.Local == "entry" {
				items, end, around = items+1, d.InputOffset(), slices.Clone(open)
			}
		default:
		}
		if err != nil || tags > maxTags || len(open) > maxDepth || items == MaxItems {
			break
		}
	}
	if items == 0 {
		return nil, errors.New("no item is within the limits")
	}
	text = text[:end]
	for _, name := range slices.Backward(around) {
		text = append(text, "</"+strings.TrimPrefix(name.Space+":"+name.Local, ":")+">"...)
	}
	return text, nil
}

// list is the first MaxItems elements of a JSON list. A hostile list would take 2 GB.
type list[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *list[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, _ := d.Token(); open != json.Delim('[') {
		return errors.New("not a list")
	}
	for *l = make(list[T], 0); d.More() && len(*l) < MaxItems; {
		var v T
		_ = d.Decode(&v) // sets the fields that fit
		*l = append(*l, v)
	}
	return nil
}

func readJSON[T any](resp fetch.Response, v any, wanted *list[T]) error {
	text, _, err := text(resp)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err == nil && *wanted == nil {
		err = errors.New("there is no list")
	}
	if err != nil {
		return &parseError{err}
	}
	return nil
}

var filters = map[string]string{
	"top": "search?tags=front_page", "new": "search_by_date?tags=story", "ask": "search_by_date?tags=ask_hn",
	"show": "search_by_date?tags=show_hn", "job": "search_by_date?tags=job",
}

// stories returns a URL of the search API: the site's own API needs a request for each story.
func (s Source) stories() (string, error) {
	c := struct {
		Filter   string
		MinScore int `json:"min_score"`
		Limit    int
	}{"top", 50, 30}
	if err := s.config(&c); err != nil {
		return "", err
	}
	query, ok := filters[c.Filter]
	if !ok {
		return "", oneOf("filter", slices.Sorted(maps.Keys(filters)))
	}
	return fmt.Sprintf("/api/v1/%s&hitsPerPage=%d&numericFilters=points%%3E%%3D%d", query, min(max(c.Limit, 1), 100), c.MinScore), nil
}

// readStories omits the scores: with them, each fetch would store new versions.
func readStories(resp fetch.Response, r *Result) error {
	var answer struct {
		Hits list[struct {
			ID                 string `json:"objectID"`
			Title, URL, Author string
			Text               string `json:"story_text"`
			At                 int64  `json:"created_at_i"`
		}]
	}
	err := readJSON(resp, &answer, &answer.Hits)
	for _, hit := range answer.Hits {
		if hit.ID == "" {
			continue
		}
		page := "https://news.ycombinator.com/item?id=" + url.QueryEscape(hit.ID)
		r.Items = append(r.Items, Item{
			GUID: "hn:" + cut(tidy(hit.ID), maxTitle), URL: cmp.Or(webURL(page, hit.URL), page), Title: line(hit.Title),
			Content: plain(hit.Text), Author: line(hit.Author), PublishedAt: unix(hit.At),
		})
	}
	return err
}

func (s Source) posts() (string, error) {
	c := struct {
		Subreddit, Sort string
		Limit           int
	}{Sort: "hot", Limit: 25}
	if err := s.config(&c); err != nil {
		return "", err
	}
	name := strings.TrimPrefix(strings.Trim(c.Subreddit, "/"), "r/")
	if name == "" {
		return "", &ConfigError{"subreddit", "is missing"}
	}
	sorts := []string{"best", "controversial", "hot", "new", "rising", "top"}
	if !slices.Contains(sorts, c.Sort) {
		return "", oneOf("sort", sorts)
	}
	return fmt.Sprintf("/r/%s/%s.json?raw_json=1&limit=%d", url.PathEscape(name), c.Sort, min(max(c.Limit, 1), 100)), nil
}

func readPosts(resp fetch.Response, r *Result) error {
	var answer struct {
		Data struct {
			Children list[struct {
				Kind string
				Data struct {
					Name, Title, URL, Permalink, Author, Selftext string
					Created                                       float64 `json:"created_utc"`
					Stickied                                      bool
				}
			}]
		}
	}
	err := readJSON(resp, &answer, &answer.Data.Children)
	for _, child := range answer.Data.Children {
		p := child.Data
		if child.Kind != "t3" || p.Stickied { // t3 is a post
			continue
		}
		r.Items = append(r.Items, Item{
			GUID: cut(tidy(p.Name), maxTitle), URL: cmp.Or(webURL(resp.URL, p.URL), webURL(resp.URL, p.Permalink)), Title: line(p.Title),
			Content: tidy(p.Selftext), Author: line(p.Author), PublishedAt: unix(int64(p.Created)),
		})
	}
	return err
}

func oneOf(field string, allowed []string) error {
	return &ConfigError{field, "is not one of " + strings.Join(allowed, ", ")}
}

func unix(sec int64) time.Time {
	if sec <= 0 {
		return time.Time{}
	}
	return time.Unix(sec, 0).UTC()
}
