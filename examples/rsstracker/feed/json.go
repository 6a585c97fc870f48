package feed

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/gorilla/feeds"
)

// document is a JSON Feed that has items, none perhaps: the format wants them.
type document struct {
	*feeds.JSONFeed
	Items []*feeds.JSONItem `json:"items"`
}

func jsonFeed(c Channel, items []Item) ([]byte, error) {
	x := document{Items: []*feeds.JSONItem{}, JSONFeed: &feeds.JSONFeed{
		Version: "https://jsonfeed.org/version/1.1", Title: c.Title, Description: c.Description, Language: c.Language,
		HomePageUrl: c.Link, FeedUrl: c.self(JSON),
	}}
	if c.Author != "" {
		x.Authors = []*feeds.JSONAuthor{{Name: c.Author}}
	}
	if c.Hub != "" {
		x.Hubs = []*feeds.JSONHub{{Type: "WebSub", Url: c.Hub}}
	}
	for _, i := range items {
		x.Items = append(x.Items, &feeds.JSONItem{
			Id: i.GUID, Url: i.URL, Title: i.Title, Summary: i.Description, ContentText: textOf(i),
			PublishedDate: date(i.Date), ModifiedDate: date(i.Updated),
		})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(x)
	return b.Bytes(), err
}

// textOf returns the content that JSON Feed wants every item to have.
func textOf(i Item) string {
	if i.Description != "" {
		return i.Description
	}
	return i.Title
}

func date(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
