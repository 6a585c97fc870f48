// Package feed writes a window of items as RSS 2.0, Atom and JSON Feed 1.1. What it
// writes is a function of its arguments, to the byte: no clock, no order of a map, no
// random name. So a feed whose items have not changed has the same ETag for good.
package feed

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
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

// File returns the name that a feed of that format has in its site's folder.
func (f Format) File() string {
	switch f {
	case RSS:
		return "rss.xml"
	case Atom:
		return "atom.xml"
	case JSON:
		return "feed.json"
	}
	return ""
}

// ContentType returns the media type to serve a feed of that format with.
func (f Format) ContentType() string { return f.mediaType() + "; charset=utf-8" }

func (f Format) mediaType() string {
	switch f {
	case RSS:
		return "application/rss+xml"
	case Atom:
		return "application/atom+xml"
	case JSON:
		return "application/feed+json"
	}
	return "application/octet-stream"
}

// Channel is what a feed says of itself. Title, Link and Base are required.
type Channel struct {
	Title       string
	Description string
	Link        string        // the site
	Base        string        // the folder that the feeds are in, without a slash at its end: where readers find them
	Language    string        // "" for none
	Author      string        // "" for the title
	Hub         string        // of WebSub; "" for none
	TTL         time.Duration // how often the feed may change; 0: unknown
}

// self returns the URL of the feed in a format.
func (c Channel) self(f Format) string { return c.Base + "/" + f.File() }

// Item is one entry.
type Item struct {
	GUID        string    // the same for good
	URL         string    // of the page
	Title       string    // plain text; "" for the URL
	Description string    // plain text; "" for none
	Date        time.Time // of the page; zero: like Published
	Published   time.Time // when the item entered the feed; zero: like Date
	Updated     time.Time // when its text last changed; zero: never
}

// Rendered is a feed ready to be served. Its slices are shared and must not be
// changed.
type Rendered struct {
	Format   Format
	Body     []byte
	Gzip     []byte    // Body, compressed
	ETag     string    // strong, of Body
	GzipETag string    // strong, of Gzip
	Modified time.Time // of the newest item, whole seconds; zero: no items
}

// Render returns items, in their order, in one format, ready to be served.
func Render(f Format, c Channel, items []Item) (Rendered, error) {
	items = cleaned(items)
	body, err := write(f, c, items)
	if err != nil {
		return Rendered{Format: f}, err
	}
	return Packed(f, body, newest(items)), nil
}

// Encode returns the Body of what Render returns. Who only writes it to a file does
// not pay for the rest.
func Encode(f Format, c Channel, items []Item) ([]byte, error) { return write(f, c, cleaned(items)) }

// write writes items that are clean.
func write(f Format, c Channel, items []Item) (body []byte, err error) {
	switch f {
	case RSS:
		body, err = rss(c, items)
	case Atom:
		body, err = atom(c, items)
	case JSON:
		body, err = jsonFeed(c, items)
	default:
		return nil, fmt.Errorf("feed: format %d", f)
	}
	if err != nil {
		return nil, fmt.Errorf("feed: %s: %w", f.File(), err)
	}
	return body, nil
}

func cleaned(items []Item) []Item {
	clean := make([]Item, len(items))
	for i, it := range items {
		clean[i] = it.cleaned()
	}
	return clean
}

// Packed returns a feed that was rendered before, ready to be served again.
func Packed(f Format, body []byte, modified time.Time) Rendered {
	r := Rendered{Format: f, Body: body, Modified: modified}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // to memory, which takes all
	_ = z.Close()
	r.Gzip = b.Bytes()
	r.ETag, r.GzipETag = etags(body)
	return r
}

// etags returns the tags of a body and of its compressed form, which are two
// representations and may not share a strong tag (RFC 9110, section 8.8.3.3).
func etags(body []byte) (plain, zipped string) {
	sum := sha256.Sum256(body)
	tag := base64.RawURLEncoding.EncodeToString(sum[:18])
	return `"` + tag + `"`, `"` + tag + `-gzip"`
}

// newest returns when the feed last changed: not when it was built, or every build
// would be news (S-E10), and not the latest date of a page, for a page that is found
// late has an old one.
func newest(items []Item) (t time.Time) {
	for _, i := range items {
		for _, d := range []time.Time{i.Published, i.Updated} {
			if d.After(t) {
				t = d
			}
		}
	}
	return t.Truncate(time.Second)
}

// cleaned returns the item with what its fields mean when they are empty, in UTC and
// whole seconds, and without the characters that one format could write and another
// could not.
func (i Item) cleaned() Item {
	if i.Published.IsZero() {
		i.Published = i.Date
	}
	if i.Date.IsZero() {
		i.Date = i.Published
	}
	if i.Updated.IsZero() || i.Updated.Before(i.Published) {
		i.Updated = i.Published
	}
	for _, t := range []*time.Time{&i.Date, &i.Published, &i.Updated} {
		*t = t.UTC().Truncate(time.Second)
	}
	i.Title, i.Description = clean(i.Title), clean(i.Description)
	if i.Title == "" {
		i.Title = i.URL
	}
	return i
}

// clean drops what XML has no character for, and makes one line.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
