package httpcache_test

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/twofold-go/twofold/internal/testkit/race"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// barePage is a handler of a page of 8 KiB.
func barePage() http.HandlerFunc {
	body := bytes.Repeat([]byte("page "), 8<<10/5)
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		h.Set("Cache-Control", "public, max-age=60")
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(body)
	}
}

// BenchmarkHit compares a hit of a page of 8 KiB with a bare handler that writes the same bytes,
// and with a 304. The writer keeps nothing, so only the handler is measured.
func BenchmarkHit(b *testing.B) {
	bare := barePage()
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

// pageOf writes n bytes of text that gzip reduces to a quarter, like a real page.
func pageOf(n int) http.HandlerFunc {
	body := bytes.Repeat([]byte("<p>the quick brown fox jumps over the lazy dog</p>\n"), n/50+1)[:n]
	for i := 0; i+8 < n; i += 16 {
		body[i] = 'a' + byte(i*7919>>5)%26
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "public, max-age=60")
		_, _ = w.Write(body)
	}
}

// measure serves one request repeatedly. The writer keeps nothing.
func measure(b *testing.B, h http.Handler, header ...string) {
	b.Helper()
	r := request(b, http.MethodGet, "/posts/first?page=2", header...)
	w := &meter{header: http.Header{}}
	h.ServeHTTP(w, r)
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

// BenchmarkEncoded compares a hit of an encoded page of 8 KiB with a plain hit, and with a
// handler that compresses each time.
func BenchmarkEncoded(b *testing.B) {
	h := pageOf(8 << 10)
	s := serve(b, h, httpcache.Config{Encodings: codings})
	each := gzhttp.GzipHandler(h)
	b.Run("plain", func(b *testing.B) { measure(b, s) })
	b.Run("gzip", func(b *testing.B) { measure(b, s, "Accept-Encoding", "gzip") })
	b.Run("browser", func(b *testing.B) { measure(b, s, "Accept-Encoding", "gzip, deflate, br, zstd") })
	b.Run("gzhttp each time", func(b *testing.B) { measure(b, each, "Accept-Encoding", "gzip") })
	b.Run("gzhttp each time before a hit", func(b *testing.B) {
		measure(b, gzhttp.GzipHandler(serve(b, h, httpcache.Config{})), "Accept-Encoding", "gzip")
	})
}

// BenchmarkRange compares a range of 1 KiB of a page of 1 MiB with a hit of a page of 8 KiB.
func BenchmarkRange(b *testing.B) {
	hit, s := serve(b, pageOf(8<<10), httpcache.Config{}), serve(b, pageOf(1<<20), httpcache.Config{})
	b.Run("hit", func(b *testing.B) { measure(b, hit) })
	b.Run("1 KiB of 1 MiB", func(b *testing.B) { measure(b, s, "Range", "bytes=500000-501023") })
	b.Run("two parts", func(b *testing.B) { measure(b, s, "Range", "bytes=0-511,500000-500511") })
	b.Run("no part", func(b *testing.B) { measure(b, s, "Range", "bytes=2000000-") })
	b.Run("another version", func(b *testing.B) { measure(b, s, "If-Match", `"another"`) })
}

// BenchmarkPast measures requests that bypass the cache: one with credentials, and a write.
func BenchmarkPast(b *testing.B) {
	h := pageOf(1 << 10)
	plain := serve(b, h, httpcache.Config{})
	b.Run("bare", func(b *testing.B) { measure(b, h) })
	b.Run("credentials", func(b *testing.B) { measure(b, plain, "Cookie", "a=b") })
	b.Run("write", func(b *testing.B) {
		r := request(b, http.MethodPost, "/posts/first")
		w := &meter{header: http.Header{}}
		b.ReportAllocs()
		for b.Loop() {
			clear(w.header)
			plain.ServeHTTP(w, r)
		}
	})
}

// BenchmarkMiss measures a page of 8 KiB that is rendered and stored, with both presets, beside the bare
// handler. Each request is for another path.
func BenchmarkMiss(b *testing.B) {
	bare := barePage()
	for _, c := range []struct {
		name string
		h    http.Handler
	}{
		{"floor", bare},
		{"shared", proxied(b, bare, httpcache.Config{})},
		{"pages", serve(b, bare, httpcache.Config{})},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := request(b, http.MethodGet, "/", "Accept", "text/html", "User-Agent", "u", "Accept-Encoding", "gzip")
			w := &meter{header: http.Header{}}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				r.URL.Path = "/" + strconv.Itoa(n)
				r.RequestURI = r.URL.Path
				clear(w.header)
				c.h.ServeHTTP(w, r)
			}
		})
	}
}
