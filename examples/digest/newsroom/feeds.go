package newsroom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/gorilla/feeds"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// answer is what an outlet says when it is asked.
type answer struct {
	contentType string
	body        []byte
	changed     time.Time // zero: nobody knows
}

// feed returns what an outlet lists as a feed.
func (n *Newsroom) feed(o *outlet, now time.Time) (answer, error) {
	items := n.items(o, now)
	home := "https://" + o.slug + ".example/"
	f := &feeds.Feed{
		Title: o.name, Link: &feeds.Link{Href: home}, Description: o.name, Id: home, Updated: lastChange(items),
		Author: &feeds.Author{Name: o.name},
	}
	for _, it := range items {
		f.Items = append(f.Items, &feeds.Item{
			Title: it.title, Link: &feeds.Link{Href: it.link}, Description: paragraphs(it.body), Id: it.guid, IsPermaLink: "false",
			Author: &feeds.Author{Name: it.author}, Created: it.at, Updated: it.changed,
		})
	}
	a := answer{changed: f.Updated}
	var text string
	var err error
	switch o.form {
	case atomForm:
		a.contentType = "application/atom+xml; charset=utf-8"
		text, err = f.ToAtom()
	case jsonForm:
		a.contentType = "application/feed+json"
		text, err = f.ToJSON()
	default:
		a.contentType = "application/rss+xml; charset=utf-8"
		channel := (&feeds.Rss{Feed: f}).RssFeed()
		channel.Ttl, channel.Language = o.ttl, n.topics[o.topic].lang
		text, err = feeds.ToXML(channel)
	}
	a.body = []byte(text)
	if err == nil && o.gbk {
		a.contentType = "text/xml" // the charset stands in the document alone, as it often does
		a.body, err = simplifiedchinese.GBK.NewEncoder().Bytes(bytes.Replace(a.body, []byte(`"UTF-8"`), []byte(`"GBK"`), 1))
	}
	return a, err
}

// paragraphs returns text as HTML: a paragraph per line.
func paragraphs(text string) string {
	return "<p>" + strings.ReplaceAll(html.EscapeString(text), "\n", "</p><p>") + "</p>"
}

// api returns what an outlet lists by an interface of its own.
func (n *Newsroom) api(o *outlet, now time.Time) (answer, error) {
	type link struct {
		Href string `json:"href"`
	}
	type article struct {
		UUID     string `json:"uuid"`
		Headline string `json:"headline"`
		Links    []link `json:"links"`
		Body     string `json:"body"`
		By       string `json:"by"`
		At       int64  `json:"at"` // ms
	}
	items := n.items(o, now)
	list := make([]article, len(items))
	for i, it := range items {
		list[i] = article{it.guid, it.title, []link{{it.link}}, paragraphs(it.body), it.author, it.at.UnixMilli()}
	}
	body, err := json.Marshal(map[string]any{"status": "ok", "data": map[string]any{"articles": list}})
	return answer{"application/json", body, lastChange(items)}, err
}

// page returns a page that says what the newest item says, and that names the outlet's
// feed if it has one. What stands around it is different with every look.
func (n *Newsroom) page(o *outlet, now time.Time) (answer, error) {
	var it item
	if items := n.items(o, now); len(items) > 0 {
		it = items[0]
	}
	head := `<meta property="og:title" content="%s"><meta property="og:description" content="%s">`
	if o.form == siteForm {
		head += `<link rel="alternate" type="application/rss+xml" href="feed.xml">`
	}
	body := fmt.Sprintf(`<!DOCTYPE html><html lang="%s"><head><meta charset="utf-8"><title>%s</title>`+head+`</head>
<body><nav>%d readers are here</nav><main><h1>%s</h1>%s</main><footer>%s</footer></body></html>`,
		n.topics[o.topic].lang, html.EscapeString(o.name), html.EscapeString(it.title), html.EscapeString(it.body),
		now.Unix()%1000, html.EscapeString(it.title), paragraphs(it.body), now.Format(time.RFC1123))
	return answer{contentType: "text/html", body: []byte(body)}, nil
}
