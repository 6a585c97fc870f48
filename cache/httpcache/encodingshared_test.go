package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// Each variant has its own codings.
func TestEncodedVariants(t *testing.T) {
	s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accept := r.Header["Accept-Encoding"]; len(accept) > 0 {
			t.Errorf("the handler sees %q", accept)
		}
		text(5000, "Vary", "Accept-Language, Accept-Encoding", "Cache-Control", "max-age=60")(w, r)
		fmt.Fprint(w, r.Header.Get("Accept-Language"))
	}), httpcache.Config{Encodings: codings})
	for i := range 3 {
		for _, lang := range []string{"en", "de", "fr"} {
			for _, accept := range []string{"gzip", "zstd", ""} {
				a := s.get(t, "/", "Accept-Language", lang, "Accept-Encoding", accept)
				if !strings.HasSuffix(unpacked(t, a), lang) || a.header.Get("Content-Encoding") != accept || i > 0 && !a.hit() {
					t.Errorf("time %d, %s in %q: %v", i, lang, accept, a.header)
				}
			}
		}
	}
}

// With Encodings all clients share one rendering, however they spell Accept-Encoding. Without it, a handler that
// compresses renders once for each spelling, but for case and spaces.
func TestSpellingsOfAcceptEncoding(t *testing.T) {
	spellings := []string{
		"gzip", "gzip, br", "br, gzip", "GZIP,br", "gzip, deflate, br, zstd", "gzip;q=1.0, *;q=0.5", "deflate, gzip", "identity", "gzip,  br",
	}
	for name, c := range map[string]struct {
		cfg  httpcache.Config
		want int
	}{"without": {want: 7}, "with": {httpcache.Config{Encodings: codings}, 1}} {
		asked := 0
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			text(5000, "Vary", "Accept-Encoding", "Cache-Control", "max-age=60")(w, r)
		}), c.cfg)
		for _, spelling := range spellings {
			s.get(t, "/", "Accept-Encoding", spelling)
		}
		if asked != c.want {
			t.Errorf("%s Encodings the handler rendered %d times, want %d", name, asked, c.want)
		}
	}
}

// The coding of a page is of its age, its header and its version.
func TestCodingsOfStoredPages(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("text ", 400)
	page := func(n int, header ...string) []string {
		return append(header, "Content-Type", "text/plain", ":body", fmt.Sprint(text, n))
	}
	in := func(coding string, more ...string) []string {
		return append([]string{"Accept-Encoding", coding}, more...)
	}
	is := func(coding string, more ...string) []string {
		return append([]string{"Content-Encoding", coding}, more...)
	}
	aging, v1 := []string{"Cache-Control", "max-age=10, stale-while-revalidate=5"}, []string{"Etag", `"v1-gzip"`}
	asks := visit{header: in("gzip"), body: fmt.Sprint(text, 1), with: is("gzip", v1...), asked: 1}
	then, last := asks, asks
	then.asked, last.asked = 2, 3
	first, second := is("gzip", "X-Of", "first"), is("gzip", "X-Of", "second")
	scripts := []script{
		{name: "whenever it was encoded", origin: [][]string{page(1, aging...), page(2, aging...), page(3, aging...)}, visits: []visit{
			{header: in("gzip"), asked: 1, body: text + "1", how: "fwd=uri-miss;stored", with: is("gzip", "Age", "-")},
			{after: "6s", header: in("gzip"), asked: 1, body: text + "1", how: "hit;ttl=4", with: is("gzip", "Age", "6")},
			{after: "3s", header: in("zstd"), asked: 1, body: text + "1", how: "hit;ttl=1", with: is("zstd", "Age", "9")},
			{after: "3s", header: in("gzip"), asked: 2, body: text + "1", how: "hit;detail=stale;ttl=-2", with: is("gzip", "Age", "12")},
			{after: "1s", header: in("gzip"), asked: 2, body: text + "2", how: "hit;ttl=9", with: is("gzip", "Age", "1")},
			{after: "1s", header: in("zstd"), asked: 2, body: text + "2", how: "hit;ttl=8", with: is("zstd", "Age", "2")},
			{after: "30s", header: in("zstd"), asked: 3, body: text + "3", how: "fwd=uri-miss;stored", with: is("zstd", "Age", "-")},
		}},
		// It is encoded each time. Its client revalidates with the validator of the coding.
		{name: "a page that is always asked for", origin: [][]string{page(1, "Cache-Control", "no-cache", "Etag", `"v1"`), {"Cache-Control", "no-cache", "Etag", `"v1"`, ":status", "304"}}, visits: []visit{
			asks, then, last, {header: in("gzip", "If-None-Match", `"v1-gzip"`), status: 304, asked: 4, with: v1},
		}},
		{name: "a page that a 304 renews", origin: [][]string{
			page(1, "Cache-Control", "max-age=5", "Etag", `"v1"`, "X-Of", "first"), {"Cache-Control", "max-age=5", "Etag", `"v1"`, "X-Of", "second", ":status", "304"},
			{"Cache-Control", "max-age=5, no-transform", "Etag", `"v1"`, ":status", "304"},
		}, visits: []visit{
			{header: in("gzip"), asked: 1, body: text + "1", with: first}, {header: in("gzip"), asked: 1, body: text + "1", with: first},
			{after: "6s", header: in("gzip"), asked: 2, body: text + "1", with: second}, {header: in("gzip"), asked: 2, body: text + "1", with: second},
			{after: "6s", header: in("gzip"), asked: 3, body: text + "1", with: is("-", "X-Of", "second")}, {header: in("gzip"), asked: 3, body: text + "1", with: is("-", "X-Of", "second")},
		}},
		// When a page is replaced early, its codings are replaced for all clients.
		{name: "a page that is replaced", origin: [][]string{page(1, "Cache-Control", minute), page(2, "Cache-Control", minute), page(3, "Cache-Control", minute)}, visits: []visit{
			{header: in("gzip"), asked: 1, body: text + "1", with: is("gzip")}, {header: in("zstd"), asked: 1, body: text + "1", with: is("zstd")},
			{act: expired, header: in(""), asked: 2, body: text + "2", with: is("-")}, {header: in("gzip"), asked: 2, body: text + "2", with: is("gzip")},
			{act: expired, header: in("zstd"), asked: 3, body: text + "3", with: is("zstd")}, {header: in("gzip"), asked: 3, body: text + "3", with: is("gzip")},
			{header: in("zstd"), asked: 3, body: text + "3", with: is("zstd")},
		}},
	}
	// A response that is not stored is not encoded, and does not need a second rendering.
	for _, header := range [][]string{{"Cache-Control", "private"}, nil, {"Content-Length", "3000000"}} {
		s := script{name: fmt.Sprintf("not stored, %q", header), origin: [][]string{page(1, header...)}}
		for i := range 3 {
			s.visits = append(s.visits, visit{header: in("gzip"), asked: i + 1, body: text + "1", with: is("-")})
		}
		scripts = append(scripts, s)
	}
	for i := range scripts {
		scripts[i].on, scripts[i].cfg = []side{handlerSide}, httpcache.Config{Encodings: codings}
	}
	play(t, scripts)
}
