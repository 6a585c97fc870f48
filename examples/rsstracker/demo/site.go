package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// latency is what every answer takes, as over a network.
const latency = 8 * time.Millisecond

// post is a page of the made-up site.
type post struct {
	path     string
	title    string
	text     string
	sitemap  string
	born     time.Time
	modified time.Time
	status   int // that it answers with; 0: 200
}

// site is a made-up site that serves itself. What it costs to ask is counted.
type site struct {
	url string // its origin, known once it listens

	mu       sync.Mutex // protects everything below
	posts    []*post
	broken   map[string]http.HandlerFunc // sitemaps that do not answer as they should
	requests int
	bytes    int
}

// add puts n posts into a sitemap.
func (s *site) add(n int, sitemap string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		i := len(s.posts) + 1
		s.posts = append(s.posts, &post{
			path: fmt.Sprintf("/posts/%d", i), title: fmt.Sprintf("Post %d", i), sitemap: sitemap, born: at, modified: at,
			text: strings.Repeat(fmt.Sprintf("Post %d has much to say. ", i), 200),
		})
		at = at.Add(time.Second) // no two alike, so that their order is known
	}
}

// do changes the site.
func (s *site) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// cost returns what the site was asked since the last call.
func (s *site) cost() (requests, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, bytes = s.requests, s.bytes
	s.requests, s.bytes = 0, 0
	return requests, bytes
}

// ServeHTTP implements [http.Handler].
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	w = &counter{w, &s.bytes}
	if h := s.broken[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	switch {
	case r.URL.Path == "/robots.txt":
		serve(w, r, "text/plain", "User-agent: *\nDisallow: /admin/\nSitemap: "+s.url+"/sitemap.xml\n")
	case r.URL.Path == "/sitemap.xml":
		serve(w, r, "application/xml", s.index())
	case strings.HasPrefix(r.URL.Path, "/sitemap-"):
		serve(w, r, "application/xml", s.list(r.URL.Path))
	default:
		s.page(w, r)
	}
}

// counter counts the bytes of bodies.
type counter struct {
	http.ResponseWriter
	n *int
}

func (c *counter) Write(p []byte) (int, error) {
	*c.n += len(p)
	return c.ResponseWriter.Write(p)
}

// serve answers with a text, or 304 to who has it.
func serve(w http.ResponseWriter, r *http.Request, contentType, text string) {
	sum := sha256.Sum256([]byte(text))
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	w.Header().Set("Content-Type", contentType+"; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader([]byte(text)))
}

// index is the sitemap of sitemaps.
func (s *site) index() string {
	newest := map[string]time.Time{}
	var names []string
	for _, p := range s.posts {
		if newest[p.sitemap].IsZero() {
			names = append(names, p.sitemap)
		}
		if p.modified.After(newest[p.sitemap]) {
			newest[p.sitemap] = p.modified
		}
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString(`<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, n := range names {
		fmt.Fprintf(&b, "<sitemap><loc>%s%s</loc><lastmod>%s</lastmod></sitemap>\n", s.url, n, newest[n].Format(time.RFC3339))
	}
	return b.String() + "</sitemapindex>\n"
}

// list is one sitemap.
func (s *site) list(name string) string {
	var b strings.Builder
	b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, p := range s.posts {
		if p.sitemap == name {
			fmt.Fprintf(&b, "<url><loc>%s%s</loc><lastmod>%s</lastmod></url>\n", s.url, p.path, p.modified.Format(time.RFC3339))
		}
	}
	return b.String() + "</urlset>\n"
}

func (s *site) page(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(s.posts, func(p *post) bool { return p.path == r.URL.Path })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	p := s.posts[i]
	if p.status != 0 {
		http.Error(w, "not now", p.status)
		return
	}
	serve(w, r, "text/html", fmt.Sprintf(`<!doctype html><title>%s | The site</title><meta property="og:title" content="%s">
<meta name="description" content="%.60s"><meta property="article:published_time" content="%s"><article>%s</article>`,
		p.title, p.title, p.text, p.born.Format(time.RFC3339), p.text))
}
