package httpcache

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// ask makes a request conditional on the validators of the page (RFC 9111 §4.3.1).
func (p *page) ask(h http.Header) {
	if tag := p.Get("Etag"); tag != "" {
		h["If-None-Match"] = []string{tag}
	}
	if at := p.Get("Last-Modified"); at != "" {
		h["If-Modified-Since"] = []string{at}
	}
}

// stands reports whether a 304 with header h can be about the page. It must name the page's
// validator or none (RFC 9111 §4.3.3). If it has Vary, the names must be those of the page.
func (c *Cache) stands(t *target, p *page, h http.Header) bool {
	if rules.Has(h, "Vary") {
		if names, ok := c.learned(t, h, p.Get("Content-Encoding") != ""); !ok || !slices.Equal(names, p.names()) {
			return false
		}
	}
	return p.named(h)
}

// named reports whether a 304 with header h names the page's validator, or none.
func (p *page) named(h http.Header) bool {
	tag, own := h.Get("Etag"), p.Get("Etag")
	return tag == "" || own == "" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(own, "W/")
}

// renewed returns the page with the headers of a 304 in place of its own, except for those about
// the body (RFC 9111 §3.2). Both pages share the body.
func (p *page) renewed(h http.Header, at time.Time) *page {
	n := p.same()
	rules.DropHopByHop(h)
	if !rules.Has(h, "Date") {
		h.Set("Date", at.UTC().Format(http.TimeFormat))
	}
	for name, values := range h {
		switch name {
		case "Content-Length", "Content-Encoding", "Content-Range", "Content-Type", "Set-Cookie", "Vary":
			continue
		}
		if !strings.HasPrefix(name, http.TrailerPrefix) {
			n.put(name, values...)
		}
	}
	return n
}

// header returns a copy of the page's header.
func (p *page) header() http.Header {
	h := make(http.Header, len(p.Header))
	p.fill(h, 0)
	return h
}
