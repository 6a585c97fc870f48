package feed

import (
	"encoding/xml"
	"html"
	"time"

	"github.com/gorilla/feeds"
)

// channel is a channel of RSS with the links to itself and to its hub, which RSS
// left to Atom.
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
	x.Channel.Links = []atomLink{{Href: c.self(RSS), Rel: "self", Type: RSS.mediaType()}}
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

// guid is what readers know the item by. It is a link only while the page is where
// it was at first sight (S-E10).
func guid(i Item) *feeds.RssGuid {
	g := &feeds.RssGuid{Id: i.GUID, IsPermaLink: "false"}
	if i.GUID == i.URL {
		g.IsPermaLink = "true"
	}
	return g
}

// rfc822 writes a date as RSS wants it, and "" for none.
func rfc822(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC1123Z)
}

// atomFeed is a feed with several links.
type atomFeed struct {
	*feeds.AtomFeed                  // whose only link the others hide
	Links           []feeds.AtomLink `xml:"link"`
}

func atom(c Channel, items []Item) ([]byte, error) {
	author := c.Author
	if author == "" {
		author = c.Title // Atom wants one
	}
	x := atomFeed{
		AtomFeed: &feeds.AtomFeed{
			Xmlns: atomSpace, Title: c.Title, Subtitle: c.Description, Id: c.self(Atom), Updated: rfc3339(newest(items)),
			Author: &feeds.AtomAuthor{AtomPerson: feeds.AtomPerson{Name: author}},
		},
		Links: []feeds.AtomLink{{Href: c.Link, Rel: "alternate"}, {Href: c.self(Atom), Rel: "self", Type: Atom.mediaType()}},
	}
	if c.Hub != "" {
		x.Links = append(x.Links, feeds.AtomLink{Href: c.Hub, Rel: "hub"})
	}
	for _, i := range items {
		e := &feeds.AtomEntry{
			Title: i.Title, Id: i.GUID, Links: []feeds.AtomLink{{Href: i.URL, Rel: "alternate"}}, Updated: rfc3339(i.Updated),
		}
		if !i.Date.IsZero() {
			e.Published = rfc3339(i.Date)
		}
		if i.Description != "" {
			e.Summary = &feeds.AtomSummary{Content: i.Description, Type: "text"}
		}
		x.Entries = append(x.Entries, e)
	}
	return encode(x)
}

// rfc3339 writes a date as Atom wants it. It must have one; for none it is the
// beginning of time.
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
