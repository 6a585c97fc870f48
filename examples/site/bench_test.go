package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// The cost of a page: time, and database queries.
func BenchmarkPages(b *testing.B) {
	s := sitetest.Seeded(b)
	site := build(b, s, siteConfig{uncached: true})
	for _, path := range []string{
		"/", "/posts/feet-first", "/pages/about", "/tags/caching", "/months/2025-03", "/nope", "/rss.xml", "/sitemap.xml", "/api/v1/posts",
	} {
		b.Run(path, func(b *testing.B) {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, http.NoBody)
			r.Header.Set("X-API-Key", sitetest.APIKey)
			before := s.Queries()
			for b.Loop() {
				site.ServeHTTP(httptest.NewRecorder(), r)
			}
			b.ReportMetric(float64(s.Queries()-before)/float64(b.N), "queries/op")
		})
	}
}
