package web_test

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/sitetest"
)

func TestFeed(t *testing.T) {
	h := handler(sitetest.Seeded(t))
	var rss struct {
		Items []struct {
			Link    string `xml:"link"`
			GUID    string `xml:"guid"`
			PubDate string `xml:"pubDate"`
			Encoded string `xml:"http://purl.org/rss/1.0/modules/content/ encoded"`
		} `xml:"channel>item"`
	}
	if err := xml.Unmarshal(get(t, h, "/rss.xml").Body.Bytes(), &rss); err != nil {
		t.Fatal(err)
	}
	if len(rss.Items) != 20 {
		t.Fatalf("%d items, want 20", len(rss.Items))
	}
	for i, r := range rss.Items {
		if !strings.HasPrefix(r.GUID, sitetest.BaseURL+"/p/") || !strings.HasPrefix(r.Link, sitetest.BaseURL+"/posts/") || !strings.Contains(r.Encoded, "<p>") {
			t.Errorf("item %d is %s at %s: %s", i, r.GUID, r.Link, r.Encoded)
		}
		if _, err := time.Parse(time.RFC1123Z, r.PubDate); err != nil {
			t.Errorf("item %d: %v", i, err)
		}
	}
}
