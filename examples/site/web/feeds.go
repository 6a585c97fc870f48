package web

import (
	"context"
	"encoding/xml"
	"fmt"
	"html"
	"net/http"
	"time"

	"github.com/gorilla/feeds"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/internal/xmltext"
	"github.com/twofold-go/twofold/examples/site/render"
)

func (s *site) feed(ctx context.Context) (*feeds.Feed, error) {
	set, err := s.read.Settings(ctx)
	if err != nil {
		return nil, err
	}
	posts, err := s.read.FeedItems(ctx, set.FeedItems)
	if err != nil {
		return nil, err
	}
	f := &feeds.Feed{
		Title: set.Title, Description: set.Description,
		Link:    &feeds.Link{Href: set.BaseURL + "/"},
		Updated: time.Unix(0, 0).UTC(), // replaced by the newest post's time: a feed itself has no time
	}
	for _, p := range posts {
		body, err := render.Markdown(p.Body)
		if err != nil {
			return nil, err
		}
		f.Add(&feeds.Item{
			Title: p.Title, Link: &feeds.Link{Href: set.BaseURL + p.Path()}, Description: html.EscapeString(p.Excerpt),
			Content: xmltext.Text(string(body)), Created: p.PublishedAt, Updated: p.UpdatedAt,
			Id: fmt.Sprintf("%s/p/%d", set.BaseURL, p.ID), IsPermaLink: "true", // unlike the link, the id never changes
		})
		if p.UpdatedAt.After(f.Updated) {
			f.Updated = p.UpdatedAt
		}
	}
	return f, nil
}

func (s *site) rss(w http.ResponseWriter, r *http.Request) error {
	f, err := s.feed(r.Context())
	if err != nil {
		return err
	}
	x := (&feeds.Rss{Feed: f}).RssFeed()
	x.Language, x.PubDate = "en", ""
	return sendXML(w, "application/rss+xml; charset=utf-8", x.FeedXml())
}

func sendXML(w http.ResponseWriter, contentType string, x any) error {
	b, err := xml.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	call.Send(w, http.StatusOK, contentType, append([]byte(xml.Header), append(b, '\n')...))
	return nil
}

type urlSet struct {
	XMLName xml.Name     `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	URLs    []sitemapURL `xml:"url"`
}

type sitemapURL struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod,omitempty"`
}

// maxSitemap is the greatest number of URLs in a sitemap.
const maxSitemap = 50000

func (s *site) sitemap(w http.ResponseWriter, r *http.Request) error {
	set, err := s.read.Settings(r.Context())
	if err != nil {
		return err
	}
	entries, err := s.read.Sitemap(r.Context())
	if err != nil {
		return err
	}
	x := urlSet{URLs: []sitemapURL{{Loc: set.BaseURL + "/"}}}
	for _, e := range entries[:min(len(entries), maxSitemap-1)] {
		x.URLs = append(x.URLs, sitemapURL{set.BaseURL + e.Path, e.UpdatedAt.Format(time.RFC3339)})
	}
	return sendXML(w, "application/xml; charset=utf-8", x)
}
