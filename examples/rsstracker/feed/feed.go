// Package feed writes items as RSS 2.0, Atom and JSON Feed 1.1. It uses no clock, so equal items give equal bytes.
package feed

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Format is a format of feed.
type Format uint8

// The formats. The zero Format is none.
const (
	RSS Format = iota + 1
	Atom
	JSON
)

// Formats are all formats.
var Formats = []Format{RSS, Atom, JSON}

var (
	files      = [...]string{RSS: "rss.xml", Atom: "atom.xml", JSON: "feed.json"}
	mediaTypes = [...]string{RSS: "application/rss+xml", Atom: "application/atom+xml", JSON: "application/feed+json"}
)

// File returns the name that a feed of that format has in its site's folder.
func (f Format) File() string { return files[f] }

// ContentType returns the media type to serve a feed of that format with.
func (f Format) ContentType() string { return mediaTypes[f] + "; charset=utf-8" }

// Channel is what a feed says of itself. Title, Link and Base are required.
type Channel struct {
	Title       string        `yaml:"title"`
	Description string        `yaml:"description"`
	Link        string        `yaml:"link"`     // the site
	Language    string        `yaml:"language"` // "" for none
	Author      string        `yaml:"author"`   // "" for the title
	Hub         string        `yaml:"hub"`      // of WebSub; "" for none
	Base        string        `yaml:"-"`        // where readers find the feeds' folder, without a slash at its end
	TTL         time.Duration `yaml:"-"`        // how often the feed may change; 0: unknown
}

// self returns the URL of the feed in a format.
func (c Channel) self(f Format) string { return c.Base + "/" + f.File() }

// Item is one entry. Its JSON is what the last good window is kept in.
type Item struct {
	GUID        string    `json:"guid"`         // the URL at first sight; never changes
	URL         string    `json:"url"`          // of the page
	Title       string    `json:"title"`        // plain text; "" for the URL
	Description string    `json:"description"`  // plain text; "" for none
	Date        time.Time `json:"date"`         // of the page, never changes; zero: like Published
	Published   time.Time `json:"published_at"` // when the item entered the feed, never changes; zero: like Date
	Updated     time.Time `json:"updated_at"`   // when its text last changed; zero: never
}

// Encode returns a feed of the items, in their order.
func Encode(f Format, c Channel, items []Item) (body []byte, err error) {
	clean := make([]Item, len(items))
	for i, it := range items {
		clean[i] = it.cleaned()
	}
	encode := map[Format]func(Channel, []Item) ([]byte, error){RSS: rss, Atom: atom, JSON: jsonFeed}[f]
	if encode == nil {
		return nil, fmt.Errorf("feed: format %d", f)
	}
	if body, err = encode(c, clean); err != nil {
		return nil, fmt.Errorf("feed: %s: %w", f.File(), err)
	}
	return body, nil
}

// newest returns when the feed last changed (S-E10). The newest page may have an old date.
func newest(items []Item) (t time.Time) {
	for _, i := range items {
		if i.Updated.After(t) {
			t = i.Updated
		}
	}
	return t
}

// cleaned fills in the defaults. Its texts can stand in all three formats.
func (i Item) cleaned() Item {
	for _, t := range []*time.Time{&i.Date, &i.Published, &i.Updated} {
		*t = t.UTC().Truncate(time.Second)
	}
	i.Published = cmp.Or(i.Published, i.Date)
	i.Date = cmp.Or(i.Date, i.Published)
	if i.Updated.Before(i.Published) {
		i.Updated = i.Published
	}
	i.Title, i.Description = cmp.Or(Line(i.Title), i.URL), Line(i.Description)
	return i
}

// Line makes one line of a text, of characters that XML allows.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
