package httpcache_test

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// BenchmarkMiss measures a page of 8 KiB that is rendered and stored, with both presets, beside the bare
// handler. Each request is for another path.
func BenchmarkMiss(b *testing.B) {
	body := bytes.Repeat([]byte("page "), 8<<10/5)
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		h.Set("Cache-Control", "public, max-age=60")
		_, _ = w.Write(body)
	})
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
