package web_test

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
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

// A body can spell a character that XML forbids, and plain SQL can store one. Readers still accept the
// feed.
func TestFeedIsXML(t *testing.T) {
	s := sitetest.Seeded(t)
	post := content.Post{Body: "a&#xFFFE;b\uFFFEc\x08d"}
	post.Slug, post.Title, post.Excerpt, post.Status = "x", "T\uFFFE", "S\uFFFF", content.Published
	post.PublishedAt, post.UpdatedAt = sitetest.Now(), sitetest.Now()
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.SavePost(t.Context(), post)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	body := get(t, handler(s), "/rss.xml").Body.String()
	if err := xml.Unmarshal([]byte(body), new(struct{})); err != nil || strings.ContainsAny(body, "\uFFFE\uFFFF\x08") || !strings.Contains(body, "<p>abcd") {
		t.Errorf("%v\n%.2000s", err, body)
	}
}
