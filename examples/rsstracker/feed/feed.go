// Package feed writes RSS 2.0, Atom and JSON Feed 1.1. It uses no clock: equal items, equal bytes.
package feed

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Format is a feed format.
type Format uint8

// The formats. The zero Format is not valid.
const (
	RSS Format = iota + 1
	Atom
	JSON
)

// Formats lists all formats.
var Formats = []Format{RSS, Atom, JSON}

var (
	files      = [...]string{RSS: "rss.xml", Atom: "atom.xml", JSON: "feed.json"}
	mediaTypes = [...]string{RSS: "application/rss+xml", Atom: "application/atom+xml", JSON: "application/feed+json"}
)

// File returns the name of such a feed in its site's folder.
func (f Format) File() string { return files[f] }

// ContentType returns the media type of such a feed.
func (f Format) ContentType() string { return mediaTypes[f] + "; charset=utf-8" }

// Channel describes a feed. Title, Link and Base are required.
type Channel struct {
	Title       string        `yaml:"title"`
	Description string        `yaml:"description"`
	Link        string        `yaml:"link"`     // the site
	Language    string        `yaml:"language"` // "" for none
	Author      string        `yaml:"author"`   // "" for the title
	Hub         string        `yaml:"hub"`      // of WebSub; "" for none
	Base        string        `yaml:"-"`        // URL of the folder of the feeds, without a slash at its end
	TTL         time.Duration `yaml:"-"`        // the interval of runs; 0: unknown
}

// self returns the URL of the feed in format f.
func (c Channel) self(f Format) string { return c.Base + "/" + f.File() }

// Item is one entry. window.json stores items in this form.
type Item struct {
	GUID        string    `json:"guid"`         // the URL when the page was first seen; never changes
	URL         string    `json:"url"`          // of the page
	Title       string    `json:"title"`        // plain text; "" for the URL
	Description string    `json:"description"`  // plain text; "" for none
	Date        time.Time `json:"date"`         // of the page, never changes; zero: as Published
	Published   time.Time `json:"published_at"` // when the item entered the feed, never changes; zero: as Date
	Updated     time.Time `json:"updated_at"`   // when its text last changed; zero: never
}

// Encode returns a feed of the items, in the given order.
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

// newest returns the time of the feed's last change (S-E10). It is not the newest date of a
// page: a new item may have an old date.
func newest(items []Item) (t time.Time) {
	for _, i := range items {
		if i.Updated.After(t) {
			t = i.Updated
		}
	}
	return t
}

// cleaned fills in the defaults, and makes the texts valid in all three formats.
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

// Line returns s on one line, without characters that XML forbids.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
