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

	"github.com/twofold-go/twofold/examples/internal/dates"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/internal/xmltext"
)

// The feed parser builds a tree, which takes up to two hundred times as much memory as the text.
const (
	maxTags  = 20_000 // tags and attributes
	maxDepth = 64
)

// feedAt returns where the root element of RSS or Atom begins, or a negative number.
func feedAt(text []byte) int64 {
	d := xmltext.NewDecoder(xmltext.Clean(bytes.NewReader(text)), maxToken)
	for at := int64(0); ; at = d.Offset() {
		t, err := d.Token()
		if root, ok := t.(xml.StartElement); ok && slices.Contains([]string{"rss", "rdf", "feed"}, strings.ToLower(root.Name.Local)) {
			return at
		} else if ok || err != nil {
			return -1
		}
	}
}

func readFeed(_ Source, resp fetch.Response, r *Result) error {
	text, whole, err := text(resp)
	if err != nil {
		return err
	}
	if isJSONFeed(text) {
		return readJSON(resp, "items", r, func(e gjson.Result) (Item, bool) { return jsonItem(resp.URL, e) })
	}
	if feedAt(text) < 0 {
		return &ParseError{Missing: "it is neither RSS, Atom nor JSON Feed"}
	}
	if text, r.Cut, err = cutFeed(text, whole); err != nil {
		return &ParseError{cause: err}
	}
	p := gofeed.NewParser()
	p.KeepOriginalFeed = true                                                     // for its ttl, and the kind of its guids
	p.RSSTranslator = &gofeed.DefaultRSSTranslator{DisableContentImageScan: true} // images are not used
	feed, err := p.Parse(bytes.NewReader(text))
	if err != nil {
		return &ParseError{cause: err}
	}
	if f, ok := feed.OriginalFeed().(*rss.Feed); ok {
		minutes, _ := strconv.ParseUint(strings.TrimSpace(f.TTL), 10, 20) // missing or invalid: 0
		r.FreshFor = max(r.FreshFor, time.Duration(minutes)*time.Minute)  //nolint:gosec // it has 20 bits
		for i, it := range f.Items {
			if it.Link == "" && it.GUID != nil && it.GUID.IsPermalink != "false" {
				feed.Items[i].Link = webURL("", it.GUID.Value) // a permalink is absolute
			}
		}
	}
	for _, entry := range feed.Items {
		if it := feedItem(resp.URL, entry); it.Title != "" || it.URL != "" { // the content gives a title
			r.Items = append(r.Items, it)
		}
	}
	return nil
}

// feedItem turns an entry into an item.
func feedItem(base string, entry *gofeed.Item) Item {
	it := Item{
		GUID: cut(tidy(entry.GUID), maxTitle), URL: webURL(base, entry.Link), Title: line(plain(entry.Title)),
		Content:     cmp.Or(plain(entry.Content), plain(entry.Description)),
		PublishedAt: cmp.Or(date(entry.Published, entry.PublishedParsed), date(entry.Updated, entry.UpdatedParsed)),
	}
	if len(entry.Authors) > 0 {
		it.Author = line(entry.Authors[0].Name)
	}
	it.Title = cmp.Or(it.Title, firstLine(it.Content))
	return it
}

// date prefers our reading to that of the feed parser, which knows fewer zones but more forms.
func date(text string, parsed *time.Time) time.Time {
	at, err := dates.Parse(text)
	if err != nil && parsed != nil {
		return parsed.UTC()
	}
	return at
}

// firstLine replaces a missing title.
func firstLine(content string) string {
	first, _, _ := strings.Cut(content, "\n")
	return cut(first, 120)
}

func isJSONFeed(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && strings.HasPrefix(gjson.GetBytes(text, "version").String(), "https://jsonfeed.org/version/")
}

// jsonItem reads an item of a JSON Feed.
func jsonItem(base string, e gjson.Result) (Item, bool) {
	at, _ := dates.Parse(cmp.Or(word(e, "date_published"), word(e, "date_modified"))) // an error comes with the zero time
	it := Item{
		GUID: word(e, "id"), URL: cmp.Or(webURL(base, word(e, "url")), webURL(base, word(e, "external_url"))), Title: line(word(e, "title")),
		Content: cmp.Or(plain(word(e, "content_html")), tidy(word(e, "content_text")), tidy(word(e, "summary"))),
		Author:  line(cmp.Or(word(e, "authors.0.name"), word(e, "author.name"))), PublishedAt: at,
	}
	it.Title = cmp.Or(it.Title, firstLine(it.Content))
	return it, it.Title != "" || it.URL != ""
}

// cutFeed returns the root of a feed. If the feed is too long, it returns the first items, each
// complete.
func cutFeed(text []byte, whole bool) (feed []byte, cut bool, err error) {
	cleaned := bytes.NewBuffer(make([]byte, 0, len(text)+bytes.MinRead))
	if _, err := cleaned.ReadFrom(xmltext.Clean(bytes.NewReader(text))); err != nil {
		return nil, false, err
	}
	text = cleaned.Bytes()
	if text = text[max(feedAt(text), 0):]; len(text) == 0 {
		return nil, false, io.ErrUnexpectedEOF
	}
	d := xmltext.NewDecoder(bytes.NewReader(text), maxToken)
	var open, around []xml.Name // the open elements, and those around the last item
	tags, items, end := 0, 0, int64(0)
	for {
		t, err := d.Token()
		_, long := errors.AsType[*xmltext.LimitError](err)
		whole = whole && !long
		if err == io.EOF && whole { //nolint:errorlint // as io.Reader has it
			return text, false, nil
		}
		if err != nil && whole {
			return nil, false, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			open, tags = append(open, t.Name), tags+1+len(t.Attr)
		case xml.EndElement:
			open = open[:max(len(open)-1, 0)]
			if t.Name.Local == "item" || t.Name.Local == "entry" {
				items, end, around = items+1, d.Offset(), slices.Clone(open)
			}
		default:
		}
		if err != nil || tags > maxTags || len(open) > maxDepth {
			break
		}
	}
	if items == 0 {
		return nil, false, errors.New("no item is within the limits")
	}
	text = text[:end]
	for _, name := range slices.Backward(around) {
		text = append(text, "</"+strings.TrimPrefix(name.Space+":"+name.Local, ":")+">"...)
	}
	return text, true, nil
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
		r.Cut = len(r.Items) == MaxItems || read == 10*MaxItems
		return !r.Cut
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
		PublishedAt                       string `json:"published_at"` // a text in a usual form, or unix seconds
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
		} else {
			it.PublishedAt, _ = dates.Parse(at.String()) // an error comes with the zero time
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
