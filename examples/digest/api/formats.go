package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"

	"github.com/gorilla/feeds"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// format is one way to write a feed down.
type format struct {
	contentType string
	body        func(s stream) ([]byte, error)
}

// formats are those of feeds, by what ends their path.
var formats = map[string]format{
	"":      {"text/html; charset=utf-8", writePage},
	".rss":  {"application/rss+xml; charset=utf-8", writeRSS},
	".json": {"application/feed+json; charset=utf-8", writeJSON},
}

func writePage(s stream) ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, s)
	return b.Bytes(), err
}

func writeRSS(s stream) ([]byte, error) {
	text, err := s.feed().ToRss()
	return []byte(text + "\n"), err
}

// jsonFeed is a feed that has items also when there are none: JSON Feed requires them.
type jsonFeed struct {
	*feeds.JSONFeed
	Items []*feeds.JSONItem `json:"items"`
}

func writeJSON(s stream) ([]byte, error) {
	f := (&feeds.JSON{Feed: s.feed()}).JSONFeed()
	f.FeedUrl = s.URL + ".json"
	b, err := json.MarshalIndent(jsonFeed{f, append([]*feeds.JSONItem{}, f.Items...)}, "", "  ")
	return append(b, '\n'), err
}

func (s stream) feed() *feeds.Feed {
	f := &feeds.Feed{Title: printable(s.Title), Link: &feeds.Link{Href: s.URL}, Description: "The latest digests", Updated: s.updated}
	for _, e := range s.Entries {
		where := s.URL + "#" + e.ID
		f.Items = append(f.Items, &feeds.Item{
			Id: where, IsPermaLink: "true", Title: e.Title, Link: &feeds.Link{Href: where},
			Description: e.Period, Content: string(e.HTML), Created: e.Created,
		})
	}
	return f
}
