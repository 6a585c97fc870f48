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
	"github.com/tidwall/gjson"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// The feed parser builds a tree, which takes up to two hundred times as much memory as the text.
const (
	maxTags  = 20_000 // tags and attributes
	maxDepth = 64
)

// isFeed reports whether a text without a declaration is RSS or Atom.
func isFeed(text []byte) bool {
	typ := gofeed.DetectFeedType(bytes.NewReader(text[:min(len(text), 4<<10)]))
	return typ == gofeed.FeedTypeRSS || typ == gofeed.FeedTypeAtom
}

func readFeed(_ Source, resp fetch.Response, r *Result) error {
	text, whole, err := text(resp)
	if err != nil {
		return err
	}
	if text = undeclared(text); !isFeed(text) {
		return &ParseError{Missing: "it is neither RSS nor Atom"}
	}
	if text, err = cutFeed(text, whole); err != nil {
		return &ParseError{cause: err}
	}
	p := gofeed.NewParser()
	p.KeepOriginalFeed = true                                                     // for its ttl
	p.RSSTranslator = &gofeed.DefaultRSSTranslator{DisableContentImageScan: true} // images are not used
	feed, err := p.Parse(bytes.NewReader(text))
	if err != nil {
		return &ParseError{cause: err}
	}
	if f, ok := feed.OriginalFeed().(*rss.Feed); ok {
		minutes, _ := strconv.ParseUint(strings.TrimSpace(f.TTL), 10, 20) // missing or invalid: 0
		r.FreshFor = max(r.FreshFor, time.Duration(minutes)*time.Minute)  //nolint:gosec // it has 20 bits
	}
	guids := map[string]int{}
	for _, entry := range feed.Items {
		if it := feedItem(resp.URL, entry); it.Title != "" || it.URL != "" { // the content gives a title
			r.Items = append(r.Items, it)
			guids[it.GUID]++
		}
	}
	for i, it := range r.Items {
		if it.GUID != "" && guids[it.GUID] > 1 {
			r.Items[i].GUID += " " + it.URL // some feeds give all items one guid
		}
	}
	return nil
}

// undeclared returns XML without its declaration, which names the original charset.
func undeclared(text []byte) []byte {
	if _, after, ok := bytes.Cut(text, []byte("?>")); ok && bytes.HasPrefix(bytes.TrimSpace(text), []byte("<?xml")) {
		return after
	}
	return text
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

// readJSON adds an item for each element of the list at a path, as package gjson reads it. It
// builds no tree: a hostile list would take 2 GB.
func readJSON(resp fetch.Response, path string, r *Result, item func(e gjson.Result) (Item, bool)) error {
	text, _, err := text(resp)
	if err != nil {
		return err
	}
	if !json.Valid(text) { // it also limits the depth
		return &ParseError{Missing: "it is not JSON"}
	}
	list := gjson.GetBytes(text, path)
	if !list.IsArray() {
		return &ParseError{Missing: "there is no list of items at the expected path, for a custom_api that of config.items"}
	}
	read := 0
	list.ForEach(func(_, e gjson.Result) bool {
		read++
		if it, ok := item(e); ok {
			it.GUID = cut(tidy(it.GUID), maxTitle)
			r.Items = append(r.Items, it)
		}
		return len(r.Items) < MaxItems && read < 10*MaxItems
	})
	return nil
}

// word returns a field of an element if it is a string or a number.
func word(e gjson.Result, path string) string {
	if v := e.Get(path); v.Type == gjson.String || v.Type == gjson.Number {
		return v.String()
	}
	return ""
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
func readStories(_ Source, resp fetch.Response, r *Result) error {
	return readJSON(resp, "hits", r, func(e gjson.Result) (Item, bool) {
		id := word(e, "objectID")
		page := "https://news.ycombinator.com/item?id=" + url.QueryEscape(id)
		return Item{
			GUID: "hn:" + id, URL: cmp.Or(webURL(page, word(e, "url")), page), Title: line(word(e, "title")),
			Content: plain(word(e, "story_text")), Author: line(word(e, "author")), PublishedAt: unix(e.Get("created_at_i").Int()),
		}, id != ""
	})
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

func readPosts(_ Source, resp fetch.Response, r *Result) error {
	return readJSON(resp, "data.children", r, func(e gjson.Result) (Item, bool) {
		p := e.Get("data")
		return Item{
			GUID: word(p, "name"), URL: cmp.Or(webURL(resp.URL, word(p, "url")), webURL(resp.URL, word(p, "permalink"))),
			Title: line(word(p, "title")), Content: tidy(word(p, "selftext")), Author: line(word(p, "author")), PublishedAt: unix(p.Get("created_utc").Int()),
		}, word(e, "kind") == "t3" && !p.Get("stickied").Bool() // t3 is a post
	})
}

// mapping is the config of a custom_api source: where its items and their fields are. Paths are
// those of package gjson.
type mapping struct {
	URL    string
	Items  string // the list. Empty means the answer itself
	Fields struct {
		GUID, URL, Title, Content, Author string
		PublishedAt                       string `json:"published_at"` // a text as in RFC 3339, or unix seconds
	}
}

func (s Source) mapping() (m mapping, err error) {
	if err = s.config(&m); err != nil {
		return m, err
	}
	switch {
	case m.URL == "":
		err = &ConfigError{"url", "is missing"}
	case m.Fields.Title == "" && m.Fields.Content == "":
		err = &ConfigError{"fields", "has neither title nor content"}
	}
	return m, err
}

func (s Source) api() (string, error) {
	m, err := s.mapping()
	return m.URL, err
}

func readCustom(s Source, resp fetch.Response, r *Result) error {
	m, err := s.mapping()
	if err != nil {
		return err
	}
	f := m.Fields
	return readJSON(resp, cmp.Or(m.Items, "@this"), r, func(e gjson.Result) (Item, bool) {
		it := Item{
			GUID: word(e, f.GUID), URL: webURL(resp.URL, word(e, f.URL)), Title: line(plain(word(e, f.Title))),
			Content: plain(word(e, f.Content)), Author: line(word(e, f.Author)),
		}
		if at := e.Get(f.PublishedAt); at.Type == gjson.Number {
			it.PublishedAt = unix(at.Int())
		} else if t, err := time.Parse(time.RFC3339, at.String()); err == nil {
			it.PublishedAt = t.UTC()
		}
		return it, it.Title != "" || it.Content != ""
	})
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
