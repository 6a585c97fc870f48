package web_test

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// entry has the common fields of RSS and Atom.
type entry struct {
	Title     string `xml:"title"`
	Link      string `xml:"link"`
	GUID      string `xml:"guid"`
	ID        string `xml:"id"`
	PubDate   string `xml:"pubDate"`
	Published string `xml:"published"`
	Content   string `xml:"content"`
	Encoded   string `xml:"http://purl.org/rss/1.0/modules/content/ encoded"`
}

func TestFeeds(t *testing.T) {
	h := handler(sitetest.Seeded(t))
	var rss struct {
		Items []entry `xml:"channel>item"`
	}
	var atom struct {
		Updated string  `xml:"updated"`
		Entries []entry `xml:"entry"`
	}
	if err := xml.Unmarshal(get(t, h, "/rss.xml").Body.Bytes(), &rss); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(get(t, h, "/atom.xml").Body.Bytes(), &atom); err != nil {
		t.Fatal(err)
	}
	if len(rss.Items) != 20 || len(atom.Entries) != 20 {
		t.Fatalf("%d items, %d entries, want 20", len(rss.Items), len(atom.Entries))
	}
	for i, r := range rss.Items {
		a := atom.Entries[i]
		if r.Title != a.Title || r.GUID != a.ID || r.Encoded != a.Content || !strings.Contains(r.Encoded, "<p>") {
			t.Errorf("item %d is %q, entry %q", i, r.Title, a.Title)
		}
		if !strings.HasPrefix(r.GUID, sitetest.BaseURL+"/p/") || !strings.HasPrefix(r.Link, sitetest.BaseURL+"/posts/") {
			t.Errorf("item %d is %s at %s", i, r.GUID, r.Link)
		}
		in, err := time.Parse(time.RFC1123Z, r.PubDate)
		out, err2 := time.Parse(time.RFC3339, a.Published)
		if err != nil || err2 != nil || !in.Equal(out) {
			t.Errorf("item %d is of %q, entry of %q", i, r.PubDate, a.Published)
		}
	}
	if _, err := time.Parse(time.RFC3339, atom.Updated); err != nil {
		t.Errorf("the feed was updated at %v", err)
	}
}
