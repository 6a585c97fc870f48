package httpcache_test

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/race"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// BenchmarkHit compares a hit of a page of 8 KiB with a bare handler that writes the same bytes,
// and with a 304. The writer keeps nothing, so only the handler is measured.
func BenchmarkHit(b *testing.B) {
	body := bytes.Repeat([]byte("page "), 8<<10/5)
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		h.Set("Cache-Control", "public, max-age=60")
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(body)
	})
	s := serve(b, bare, httpcache.Config{
		Hosts: []string{"example.com"},
		Vary:  []httpcache.VaryRule{{Header: "Accept", Normalize: func(string) string { return "" }}},
	})
	etag := s.get(b, "/posts/first?page=2").header.Get("ETag")
	for _, c := range []struct {
		name   string
		h      http.Handler
		header []string
	}{
		{"floor", bare, nil}, {"twofold", s, nil}, {"twofold 304", s, []string{"If-None-Match", etag}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := request(b, http.MethodGet, "/posts/first?page=2", append(c.header, "Accept", "text/html", "User-Agent", "u", "Accept-Encoding", "gzip")...)
			w := &meter{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				c.h.ServeHTTP(w, r)
			}
			if n := s.c.Stats().Misses; n != 1 {
				b.Errorf("%d misses", n)
			}
		})
	}
}

// A hit allocates little, for any size of page.
func TestHitAllocations(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector makes the library look at its values")
		return
	}
	s := serve(t, document("", time.Time{}), httpcache.Config{})
	r := request(t, http.MethodGet, "/posts/first?page=2")
	w := &meter{header: http.Header{}}
	if n := testing.AllocsPerRun(1000, func() { s.ServeHTTP(w, r) }); n > 8 {
		t.Errorf("%v allocations", n)
	}
}
