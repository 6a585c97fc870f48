package web

import (
	"encoding/xml"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
)

// urlSet is a sitemap.
type urlSet struct {
	XMLName xml.Name     `xml:"urlset"`
	Xmlns   string       `xml:"xmlns,attr"`
	URLs    []sitemapURL `xml:"url"`
}

type sitemapURL struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod,omitempty"`
}

// maxSitemap is how many URLs a sitemap may have. A larger site would need an
// index of several, which this one leaves out.
const maxSitemap = 50000

func (s *site) sitemap(w http.ResponseWriter, r *http.Request, _ content.Lang) error {
	set, err := s.read.Settings(r.Context())
	if err != nil {
		return err
	}
	entries, err := s.read.Sitemap(r.Context())
	if err != nil {
		return err
	}
	x := urlSet{Xmlns: "http://www.sitemaps.org/schemas/sitemap/0.9"}
	for _, lang := range content.Langs {
		x.URLs = append(x.URLs, sitemapURL{Loc: set.BaseURL + lang.Path("/")})
	}
	for _, e := range entries[:min(len(entries), maxSitemap-len(content.Langs))] {
		x.URLs = append(x.URLs, sitemapURL{set.BaseURL + e.Path, e.UpdatedAt.Format(time.RFC3339)})
	}
	return sendXML(w, "application/xml; charset=utf-8", x)
}
