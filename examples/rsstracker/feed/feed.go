// Package feed writes RSS 2.0. It uses no clock, so equal items give equal bytes.
package feed

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/gorilla/feeds"

	"github.com/twofold-go/twofold/examples/internal/xmltext"
)

// File is the name of the feed in its site's folder, and ContentType its media type.
const (
	File        = "rss.xml"
	ContentType = mediaType + "; charset=utf-8"
	mediaType   = "application/rss+xml"
)

// Channel describes a feed. Title, Link and Base are required.
type Channel struct {
	Title       string        `yaml:"title"`
	Description string        `yaml:"description"`
	Link        string        `yaml:"link"`     // the site
	Language    string        `yaml:"language"` // "" for none
	Base        string        `yaml:"-"`        // URL of the folder of the feed, without a slash at its end
	TTL         time.Duration `yaml:"-"`        // the interval of runs; zero means unknown
}

// Item is one entry. window.json stores items in this form.
type Item struct {
	GUID        string    `json:"guid"`         // the URL when the page was first seen; never changes
	URL         string    `json:"url"`          // of the page
	Title       string    `json:"title"`        // plain text; "" for the URL
	Description string    `json:"description"`  // plain text; "" for none
	Date        time.Time `json:"date"`         // of the page, never changes; zero means as Published
	Published   time.Time `json:"published_at"` // when the item entered the feed, never changes; zero means as Date
	Updated     time.Time `json:"updated_at"`   // when its text last changed; zero means never
}

// document is an RSS document with the Atom link that RSS lacks.
type document struct {
	XMLName xml.Name `xml:"rss"`
	Version string   `xml:"version,attr"`
	Atom    string   `xml:"xmlns:atom,attr"`
	Channel struct {
		Self struct {
			Href string `xml:"href,attr"`
			Rel  string `xml:"rel,attr"`
			Type string `xml:"type,attr"`
		} `xml:"atom:link"`
		*feeds.RssFeed
	} `xml:"channel"`
}

// Encode returns a feed of the items, in the given order. lastBuildDate is the time of the last
// change (S-E10). It is not the newest date of a page: a new item may have an old date.
func Encode(c Channel, items []Item) ([]byte, error) {
	x := document{Version: "2.0", Atom: "http://www.w3.org/2005/Atom"}
	self := &x.Channel.Self
	self.Href, self.Rel, self.Type = c.Base+"/"+File, "self", mediaType
	x.Channel.RssFeed = &feeds.RssFeed{
		Title: c.Title, Link: c.Link, Description: c.Description, Language: c.Language, Ttl: int(c.TTL / time.Minute),
	}
	var newest time.Time
	for _, i := range items {
		for _, t := range []time.Time{i.Updated, either(i.Published, i.Date)} {
			if t.After(newest) {
				newest = t
			}
		}
		x.Channel.Items = append(x.Channel.Items, &feeds.RssItem{
			Title: cmp.Or(Line(i.Title), i.URL), Link: i.URL, Description: html.EscapeString(Line(i.Description)),
			PubDate: date(either(i.Date, i.Published)), Guid: guid(i),
		})
	}
	x.Channel.LastBuildDate = date(newest)
	b, err := xml.MarshalIndent(x, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

// guid is a permanent link only while the page is at the URL where it was first seen (S-E10).
func guid(i Item) *feeds.RssGuid {
	g := &feeds.RssGuid{Id: i.GUID, IsPermaLink: "false"}
	if i.GUID == i.URL {
		g.IsPermaLink = "true"
	}
	return g
}

// either is like cmp.Or, but the zero time may have a zone.
func either(t, u time.Time) time.Time {
	if t.IsZero() {
		return u
	}
	return t
}

func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC1123Z)
}

// Line returns s on one line, without characters that XML forbids.
func Line(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(xmltext.Text(s), "\uFFFD", "")), " ")
}
