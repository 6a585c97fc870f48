package feed_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mmcdole/gofeed"
	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/examples/rsstracker/feed"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

var march = time.Date(2026, time.March, 10, 12, 0, 0, 0, time.UTC)

var channel = feed.Channel{
	Title: `News & <more> of "Example"`, Description: "What is new; it's & stays <small>.", Link: "https://example.com/",
	Base: "https://feeds.example.org/example", Language: "en", Author: "Ann & Bob", Hub: "https://hub.example.org/", TTL: 2 * time.Hour,
}

var items = []feed.Item{
	{GUID: "http://example.com/c?a=1&b=2", URL: "https://example.com/c?a=1&b=2", Title: "Moved & <kept>", Description: "Less < more & ]]> \"so\".",
		Date: march.Add(-time.Hour), Published: march, Updated: march.Add(time.Minute)},
	{GUID: "https://example.com/b", URL: "https://example.com/b", Title: "词 \x01and\x00 more 🎈", Date: march.AddDate(-1, 0, 0), Published: march},
	{GUID: "https://example.com/a", URL: "https://example.com/a", Published: march.Add(-time.Hour)},
}

func render(t interface {
	Helper()
	Fatal(...any)
}, f feed.Format, c feed.Channel, items []feed.Item) []byte {
	t.Helper()
	r, err := feed.Encode(f, c, items)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGolden(t *testing.T) {
	for _, f := range feed.Formats {
		for name, items := range map[string][]feed.Item{"three-": items, "empty-": nil} {
			got := render(t, f, channel, items)
			file := filepath.Join("testdata", name+f.File())
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
}

// seen is an item as a reader sees it, in any format.
type seen struct{ GUID, Link, Title, Description, Date string }

// parse parses a feed as readers do.
func parse(t interface {
	Helper()
	Fatal(...any)
}, of feed.Format, body []byte) (*gofeed.Feed, []seen) {
	t.Helper()
	f, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var all []seen
	for _, i := range f.Items {
		s := seen{GUID: i.GUID, Link: i.Link, Title: i.Title, Description: i.Description}
		if of == feed.RSS { // RSS descriptions are HTML
			s.Description = html.UnescapeString(s.Description)
		}
		if i.PublishedParsed != nil {
			s.Date = i.PublishedParsed.UTC().Format(time.RFC3339)
		}
		all = append(all, s)
	}
	return f, all
}

// TestReadersSeeTheSame: an independent parser gets the same items from all three formats.
func TestReadersSeeTheSame(t *testing.T) {
	want := []seen{
		{items[0].GUID, items[0].URL, items[0].Title, items[0].Description, "2026-03-10T11:00:00Z"},
		{items[1].GUID, items[1].URL, "词 and more 🎈", "", "2025-03-10T12:00:00Z"},
		{items[2].GUID, items[2].URL, "https://example.com/a", "", "2026-03-10T11:00:00Z"},
	}
	for _, f := range feed.Formats {
		t.Run(f.File(), func(t *testing.T) {
			r := render(t, f, channel, items)
			got, all := parse(t, f, r)
			if diff := cmp.Diff(want, all); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if got.Title != channel.Title || got.Link != channel.Link || got.FeedLink != channel.Base+"/"+f.File() {
				t.Errorf("the feed is %q of %s at %s", got.Title, got.Link, got.FeedLink)
			}
			if want := march.Add(time.Minute); f != feed.JSON && (got.UpdatedParsed == nil || !got.UpdatedParsed.Equal(want)) {
				t.Errorf("updated at %v, want %v", got.UpdatedParsed, want)
			}
		})
	}
}

// TestAnyItems is the round trip of arbitrary texts.
func TestAnyItems(t *testing.T) {
	text := rapid.StringOfN(rapid.Rune(), 0, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		var in []feed.Item
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			url := "https://example.com/" + rapid.StringMatching(`[a-z0-9?&=%]{0,10}`).Draw(t, "path")
			in = append(in, feed.Item{
				GUID: url, URL: url, Title: "t" + text.Draw(t, "title"), Description: text.Draw(t, "description"),
				Date: march.Add(time.Duration(rapid.Int64Range(-1e17, 1e17).Draw(t, "date"))), Published: march,
			})
		}
		var first []seen
		for _, f := range feed.Formats {
			_, all := parse(t, f, render(t, f, channel, in))
			if f == feed.RSS {
				first = all
			}
			if len(all) != len(in) {
				t.Fatalf("%s has %d items of %d", f.File(), len(all), len(in))
			}
			if diff := cmp.Diff(first, all); diff != "" {
				t.Fatalf("%s is not the RSS (-RSS +it):\n%s", f.File(), diff)
			}
		}
	})
}

// TestByteStable is S-E10: the same items give the same bytes, even in another time zone.
func TestByteStable(t *testing.T) {
	zone := time.FixedZone("far", 5*3600)
	var moved []feed.Item
	for _, i := range items {
		i.Date, i.Published = i.Date.In(zone), i.Published.In(zone)
		moved = append(moved, i)
	}
	for _, f := range feed.Formats {
		a, b := render(t, f, channel, items), render(t, f, channel, moved)
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs from one build to the next", f.File())
		}
	}
}

// TestWhatValidatorsAskFor checks the rules that feed validators check and parsers forgive.
func TestWhatValidatorsAskFor(t *testing.T) {
	rss := string(render(t, feed.RSS, channel, items))
	for what, want := range map[string]string{
		"self link":             `<atom:link href="https://feeds.example.org/example/rss.xml" rel="self" type="application/rss+xml">`,
		"hub":                   `<atom:link href="https://hub.example.org/" rel="hub">`,
		"date with four digits": `<lastBuildDate>Tue, 10 Mar 2026 12:01:00 +0000</lastBuildDate>`,
		"guid that is a link":   `<guid isPermaLink="true">https://example.com/b</guid>`,
		"guid that is none":     `<guid isPermaLink="false">http://example.com/c?a=1&amp;b=2</guid>`,
		"time to live":          `<ttl>120</ttl>`,
		"declaration":           xml.Header,
	} {
		if !strings.Contains(rss, want) {
			t.Errorf("%s: no %s in\n%s", what, want, rss)
		}
	}
	if empty := string(render(t, feed.RSS, channel, nil)); strings.Contains(empty, "lastBuildDate") {
		t.Error("an empty feed has a date")
	}
	var j struct {
		Version string
		Items   []map[string]any
	}
	if err := json.Unmarshal(render(t, feed.JSON, channel, nil), &j); err != nil || j.Items == nil || j.Version == "" {
		t.Errorf("JSON Feed without items: %+v, %v", j, err)
	}
	d := xml.NewDecoder(bytes.NewReader(render(t, feed.Atom, channel, items)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	if _, err := feed.Encode(0, channel, items); err == nil {
		t.Error("format 0 was rendered")
	}
}
