package fetchers_test

import (
	"fmt"
	"strings"
	"testing"
)

// All items of a feed are read, because the new ones may be the last. Of a feed that is too long, the
// first items are read, each complete, and the result says so.
func TestLongFeeds(t *testing.T) {
	tricky := `<![CDATA[</item></entry></channel>]]><!-- </item> <item> -->`
	kilobytes := strings.Repeat("text ", 4<<10)
	for _, tt := range []struct {
		name, typ, head, item, tail string
		items, want                 int
	}{
		{"rss", "rss", `<?xml version="1.0"?><!DOCTYPE rss><rss version="2.0"><channel><title/><link/>`,
			`<item a="/>"><title>%d</title><description>` + tricky + `</description></item>`, `</channel></rss>`, 600, 600},
		{"rss, as long as lists were cut before", "rss", `<rss version="2.0"><channel>`, `<item><title>%d</title></item>`, `</channel></rss>`, 500, 500},
		{"rss, to its limit in tags", "rss", `<rss version="2.0"><channel>`, `<item><title>%d</title><guid>g</guid><a/></item>`, `</channel></rss>`, 5_100, 4_999},
		{"rss, to its limit in bytes", "rss", `<rss version="2.0"><channel>`,
			`<item><title>%d</title><description>` + kilobytes + `</description></item>`, `</channel></rss>`, 300, 204},
		{"rdf", "rss", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><items><rdf:li/></items></channel>`,
			`<item><title>%d</title></item>`, `</rdf:RDF>`, 600, 600},
		{"atom", "atom", `<feed xmlns="http://www.w3.org/2005/Atom">`, `<entry><title>%d</title><summary>` + tricky + `</summary></entry>`, `</feed>`, 600, 600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			for i := range tt.items {
				fmt.Fprintf(&b, tt.item, i)
			}
			r := get(t, map[string]page{"https://e.com/f": {body: tt.head + b.String() + tt.tail}}, tt.typ, `{"url":"https://e.com/f"}`)
			if len(r.Items) != tt.want || r.Cut != (tt.want < tt.items) {
				t.Errorf("%d items, cut off %v; want %d of %d", len(r.Items), r.Cut, tt.want, tt.items)
			}
			for i, it := range r.Items {
				if it.Title != fmt.Sprint(i) {
					t.Fatalf("item %d has the title %q", i, it.Title)
				}
			}
		})
	}
}
