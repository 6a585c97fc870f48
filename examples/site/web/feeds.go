package web

import (
	"context"
	"encoding/xml"
	"html"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/feeds"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/render"
)

// stream is what both formats of feed are made from.
type stream struct {
	lang    content.Lang
	site    content.Settings
	text    content.Text
	posts   []content.Post
	html    []string  // their bodies
	updated time.Time // the newest of theirs: a feed has no time of its own
}

func (s *site) stream(ctx context.Context, lang content.Lang) (f stream, err error) {
	f = stream{lang: lang, updated: time.Unix(0, 0).UTC()}
	if f.site, err = s.read.Settings(ctx); err != nil {
		return f, err
	}
	f.text = f.site.Texts[lang]
	if f.posts, err = s.read.FeedItems(ctx, lang, f.site.FeedItems); err != nil {
		return f, err
	}
	for _, p := range f.posts {
		body, err := render.Markdown(p.Body)
		if err != nil {
			return f, err
		}
		f.html = append(f.html, string(body))
		if p.UpdatedAt.After(f.updated) {
			f.updated = p.UpdatedAt
		}
	}
	return f, nil
}

// url returns the URL of a path that is the same in all languages.
func (f stream) url(path string) string { return f.site.BaseURL + path }

// id returns what a post is known by in feeds: unlike its URL, it stays.
func (f stream) id(p content.Post) string { return f.url("/p/" + strconv.FormatInt(p.ID, 10)) }

// rssChannel is a channel that says where it is itself, which RSS left out.
type rssChannel struct {
	XMLName xml.Name `xml:"rss"`
	Version string   `xml:"version,attr"`
	Content string   `xml:"xmlns:content,attr"`
	Atom    string   `xml:"xmlns:atom,attr"`
	Channel struct {
		*feeds.RssFeed
		Self rssSelf
	} `xml:"channel"`
}

type rssSelf struct {
	XMLName xml.Name `xml:"atom:link"`
	Href    string   `xml:"href,attr"`
	Rel     string   `xml:"rel,attr"`
	Type    string   `xml:"type,attr"`
}

func (s *site) rss(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	f, err := s.stream(r.Context(), lang)
	if err != nil {
		return err
	}
	x := rssChannel{Version: "2.0", Content: "http://purl.org/rss/1.0/modules/content/", Atom: "http://www.w3.org/2005/Atom"}
	x.Channel.Self = rssSelf{Href: f.url(lang.Path("/rss.xml")), Rel: "self", Type: "application/rss+xml"}
	x.Channel.RssFeed = &feeds.RssFeed{
		Title: f.text.Title, Link: f.url(lang.Path("/")), Description: f.text.Description, Language: string(lang),
		LastBuildDate: f.updated.Format(time.RFC1123Z),
	}
	for i, p := range f.posts {
		x.Channel.Items = append(x.Channel.Items, &feeds.RssItem{
			Title: p.Title, Link: f.url(p.Path()), Description: html.EscapeString(p.Excerpt),
			Content: &feeds.RssContent{Content: f.html[i]},
			Guid:    &feeds.RssGuid{Id: f.id(p), IsPermaLink: "true"},
			PubDate: p.PublishedAt.Format(time.RFC1123Z),
		})
	}
	return sendXML(w, "application/rss+xml; charset=utf-8", x)
}

// atomFeed is a feed with two links: to the site, and to itself.
type atomFeed struct {
	*feeds.AtomFeed                  // whose only link the others hide
	Links           []feeds.AtomLink `xml:"link"`
}

func (s *site) atom(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	f, err := s.stream(r.Context(), lang)
	if err != nil {
		return err
	}
	home := f.url(lang.Path("/"))
	x := atomFeed{
		AtomFeed: &feeds.AtomFeed{
			Xmlns: "http://www.w3.org/2005/Atom", Title: f.text.Title, Subtitle: f.text.Description, Id: home,
			Updated: f.updated.Format(time.RFC3339),
			Author:  &feeds.AtomAuthor{AtomPerson: feeds.AtomPerson{Name: f.site.Author}},
		},
		Links: []feeds.AtomLink{
			{Href: home, Rel: "alternate"}, {Href: f.url(lang.Path("/atom.xml")), Rel: "self", Type: "application/atom+xml"},
		},
	}
	for i, p := range f.posts {
		e := &feeds.AtomEntry{
			Title: p.Title, Id: f.id(p), Links: []feeds.AtomLink{{Href: f.url(p.Path()), Rel: "alternate"}},
			Content:   &feeds.AtomContent{Content: f.html[i], Type: "html"},
			Published: p.PublishedAt.Format(time.RFC3339), Updated: p.UpdatedAt.Format(time.RFC3339),
		}
		if p.Excerpt != "" {
			e.Summary = &feeds.AtomSummary{Content: p.Excerpt, Type: "text"}
		}
		x.Entries = append(x.Entries, e)
	}
	return sendXML(w, "application/atom+xml; charset=utf-8", x)
}

func sendXML(w http.ResponseWriter, contentType string, x any) error {
	b, err := xml.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	send(w, http.StatusOK, contentType, append([]byte(xml.Header), append(b, '\n')...))
	return nil
}
