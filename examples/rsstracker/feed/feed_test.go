package feed_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/rsstracker/feed"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

var march = time.Date(2026, time.March, 10, 12, 0, 0, 0, time.UTC)

var channel = feed.Channel{
	Title: `News & <more> of "Example"`, Description: "What is new; it's & stays <small>.", Link: "https://example.com/",
	Base: "https://feeds.example.org/example", Language: "en", TTL: 2 * time.Hour,
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
}, c feed.Channel, items []feed.Item) []byte {
	t.Helper()
	r, err := feed.Encode(c, items)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGolden(t *testing.T) {
	for name, items := range map[string][]feed.Item{"three-": items, "empty-": nil} {
		got := render(t, channel, items)
		file := filepath.Join("testdata", name+feed.File)
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

// TestByteStable is S-E10: the same items give the same bytes, even in another time zone.
func TestByteStable(t *testing.T) {
	zone := time.FixedZone("far", 5*3600)
	var moved []feed.Item
	for _, i := range items {
		i.Date, i.Published = i.Date.In(zone), i.Published.In(zone)
		moved = append(moved, i)
	}
	if !bytes.Equal(render(t, channel, items), render(t, channel, moved)) {
		t.Error("the feed differs from one build to the next")
	}
}

// TestWhatValidatorsAskFor checks the rules that feed validators check and parsers forgive.
func TestWhatValidatorsAskFor(t *testing.T) {
	rss := string(render(t, channel, items))
	for what, want := range map[string]string{
		"self link":             `<atom:link href="https://feeds.example.org/example/rss.xml" rel="self" type="application/rss+xml">`,
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
	if empty := string(render(t, channel, nil)); strings.Contains(empty, "lastBuildDate") {
		t.Error("an empty feed has a date")
	}
}
