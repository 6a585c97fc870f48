package feed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"html"
	"time"

	"github.com/gorilla/feeds"
)

// channel is an RSS channel with the Atom links that RSS lacks.
type channel struct {
	XMLName xml.Name `xml:"rss"`
	Version string   `xml:"version,attr"`
	Atom    string   `xml:"xmlns:atom,attr"`
	Channel struct {
		Links []atomLink `xml:"atom:link"`
		*feeds.RssFeed
	} `xml:"channel"`
}

type atomLink struct {
	Href string `xml:"href,attr"`
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
}

const atomSpace = "http://www.w3.org/2005/Atom"

func rss(c Channel, items []Item) ([]byte, error) {
	x := channel{Version: "2.0", Atom: atomSpace}
	x.Channel.Links = []atomLink{{Href: c.self(RSS), Rel: "self", Type: mediaTypes[RSS]}}
	if c.Hub != "" {
		x.Channel.Links = append(x.Channel.Links, atomLink{Href: c.Hub, Rel: "hub"})
	}
	x.Channel.RssFeed = &feeds.RssFeed{
		Title: c.Title, Link: c.Link, Description: c.Description, Language: c.Language,
		Ttl: int(c.TTL / time.Minute), LastBuildDate: rfc822(newest(items)),
	}
	for _, i := range items {
		x.Channel.Items = append(x.Channel.Items, &feeds.RssItem{
			Title: i.Title, Link: i.URL, Description: html.EscapeString(i.Description), PubDate: rfc822(i.Date), Guid: guid(i),
		})
	}
	return encode(x)
}

// guid is a permanent link only while the page is at the URL where it was first seen (S-E10).
func guid(i Item) *feeds.RssGuid {
	g := &feeds.RssGuid{Id: i.GUID, IsPermaLink: "false"}
	if i.GUID == i.URL {
		g.IsPermaLink = "true"
	}
	return g
}

func rfc822(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC1123Z)
}

type atomFeed struct {
	*feeds.AtomFeed                  // Links hides its only link
	Links           []feeds.AtomLink `xml:"link"`
}

func atom(c Channel, items []Item) ([]byte, error) {
	x := atomFeed{
		AtomFeed: &feeds.AtomFeed{
			Xmlns: atomSpace, Title: c.Title, Subtitle: c.Description, Id: c.self(Atom), Updated: rfc3339(newest(items)),
			Author: &feeds.AtomAuthor{AtomPerson: feeds.AtomPerson{Name: cmp.Or(c.Author, c.Title)}},
		},
		Links: []feeds.AtomLink{{Href: c.Link, Rel: "alternate"}, {Href: c.self(Atom), Rel: "self", Type: mediaTypes[Atom]}},
	}
	if c.Hub != "" {
		x.Links = append(x.Links, feeds.AtomLink{Href: c.Hub, Rel: "hub"})
	}
	for _, i := range items {
		e := &feeds.AtomEntry{
			Title: i.Title, Id: i.GUID, Links: []feeds.AtomLink{{Href: i.URL, Rel: "alternate"}}, Updated: rfc3339(i.Updated), Published: rfc3339(i.Date),
		}
		if i.Description != "" {
			e.Summary = &feeds.AtomSummary{Content: i.Description, Type: "text"}
		}
		x.Entries = append(x.Entries, e)
	}
	return encode(x)
}

// rfc3339 writes a date for Atom, where it is required. It replaces the zero time by 1970.
func rfc3339(t time.Time) string {
	if t.IsZero() {
		t = time.Unix(0, 0).UTC()
	}
	return t.Format(time.RFC3339)
}

func encode(x any) ([]byte, error) {
	b, err := xml.MarshalIndent(x, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

// document is a JSON Feed whose items are never null.
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
			Id: i.GUID, Url: i.URL, Title: i.Title, Summary: i.Description, ContentText: cmp.Or(i.Description, i.Title), // the format requires a text
			PublishedDate: &i.Date, ModifiedDate: &i.Updated,
		})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(x)
	return b.Bytes(), err
}
