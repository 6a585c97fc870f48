package httpcache_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

var codings = []httpcache.Encoding{httpcache.Zstd(0), httpcache.Gzip(0)}

// unpacked returns the decoded body of an answer.
func unpacked(t testing.TB, a answer) string {
	t.Helper()
	var r io.Reader = strings.NewReader(a.body)
	var err error
	switch coding := a.header.Get("Content-Encoding"); coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		var d *zstd.Decoder
		d, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err == nil {
			defer d.Close()
		}
		r = d
	case "", "br":
	default:
		t.Errorf("coding %q", coding)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// A client gets the coding that it prefers (RFC 9110 §12.5.3).
func TestPreferredEncoding(t *testing.T) {
	s := serve(t, text(5000), httpcache.Config{Encodings: codings})
	for accept, want := range map[string]string{
		"gzip": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "gzip, deflate, br, zstd": "zstd", "GZIP": "gzip", "x-gzip": "gzip",
		"zstd;q=0.5, gzip": "gzip", "zstd;q=0.5, gzip;q=0.4": "zstd", "*": "zstd", "*, zstd;q=0": "gzip", "*;q=0.1, gzip;q=0.2": "gzip",
		"": "", "identity": "", "br": "", "gzip;q=0": "", "gzip;q=0.000": "", "*;q=0": "", "*;q=0, gzip": "gzip",
		"identity, gzip;q=0.5": "", "identity;q=0.5, gzip;q=0.5": "gzip", "identity;q=0, br": "", "gzip; Q=1.000 ,": "gzip",
		"gzip;q=1.001": "", "gzip;q=2": "", "gzip;q=": "", "gzip;q=0.1234": "", "gzip;level=1": "", ";q=1": "", "gzip;q=x, zstd;q=0.1": "zstd",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			a := do(s, request(t, method, "/", "Accept-Encoding", accept))
			if got := a.header.Get("Content-Encoding"); got != want || a.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%q: coding %q, want %q: %v", accept, got, want, a.header)
			}
		}
	}
	if a := s.get(t, "/", "Accept-Encoding", "zstd;q=0.1", "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "gzip" {
		t.Error("the second line does not count")
	}
}

// A client never gets a coding that it refuses, and always gets the whole page.
func TestEncodingsAreAcceptable(t *testing.T) {
	s := serve(t, text(5000), httpcache.Config{Encodings: codings})
	plain := s.get(t, "/").body
	rapid.Check(t, func(rt *rapid.T) {
		q := map[string]int{}
		var elements []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"gzip", "zstd", "identity", "*", "br"}), 0, 5, rapid.ID).Draw(rt, "codings") {
			q[name] = rapid.IntRange(0, 3).Draw(rt, "weight")
			elements = append(elements, fmt.Sprintf("%s;q=0.%d", name, q[name]))
		}
		weight := func(name string) int {
			if n, ok := q[name]; ok {
				return n
			}
			return q["*"]
		}
		a := s.get(t, "/", "Accept-Encoding", strings.Join(elements, rapid.SampledFrom([]string{",", " , "}).Draw(rt, "comma")))
		got := a.header.Get("Content-Encoding")
		if got == "" {
			got = "identity"
		}
		best := max(weight("gzip"), weight("zstd"))
		if own, ok := q["identity"]; ok && own > best {
			best = own
		}
		switch {
		case unpacked(t, a) != plain:
			rt.Fatalf("%q: %v", elements, a)
		case best == 0 && got != "identity", best > 0 && weight(got) != best:
			rt.Fatalf("%q: coding %s", elements, got)
		}
	})
}

// Whole pages of a compressible kind get codings. Each coding has its own validator.
func TestEncodedPages(t *testing.T) {
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(rand.N(256))
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		coding  string
		tag     string // "": any
		vary    string
	}{
		"text":            {handler: text(5000, "ETag", `"v1"`), coding: "gzip", tag: `"v1-gzip"`, vary: "Accept-Encoding"},
		"weak":            {handler: text(5000, "ETag", `W/"v1"`), coding: "gzip", tag: `W/"v1-gzip"`, vary: "Accept-Encoding"},
		"own validator":   {handler: text(5000), coding: "gzip", vary: "Accept-Encoding"},
		"varies already":  {handler: text(5000, "Vary", "accept-encoding"), coding: "gzip", vary: "accept-encoding"},
		"not found":       {handler: missingText5000, coding: "gzip", vary: "Accept-Encoding"},
		"digest":          {handler: text(5000, "Content-Digest", "sha-256=:AA==:"), coding: "gzip", vary: "Accept-Encoding"},
		"short":           {handler: text(1000, "ETag", `"v1"`), tag: `"v1"`, vary: "Accept-Encoding"},
		"encoded already": {handler: text(5000, "Content-Encoding", "br"), coding: "br"},
		"no-transform":    {handler: text(5000, "Cache-Control", "no-transform")},
		"a film":          {handler: text(5000, "Content-Type", "video/mp4")},
		"an archive":      {handler: text(5000, "Content-Type", "application/zip")},
		"noise": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write(noise)
		}, vary: "Accept-Encoding"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if has := r.Header.Get("Accept-Encoding"); has != "" {
					t.Errorf("the handler sees %q", has)
				}
				c.handler(w, r)
			}, httpcache.Config{Encodings: codings})
			for i := range 3 {
				plain, a := s.get(t, "/"), s.get(t, "/", "Accept-Encoding", "gzip")
				if got := a.header.Get("Content-Encoding"); got != c.coding || a.header.Get("Vary") != c.vary || plain.header.Get("Vary") != c.vary {
					t.Errorf("time %d: %v", i, a.header)
				}
				if a.header.Get("Content-Length") != fmt.Sprint(len(a.body)) || unpacked(t, a) != plain.body || a.status != plain.status {
					t.Errorf("time %d: %v", i, a)
				}
				tag := a.header.Get("ETag")
				if c.tag != "" && tag != c.tag || c.coding == "gzip" && (tag != "" && tag == plain.header.Get("ETag") || a.header.Get("Content-Digest") != "") {
					t.Errorf("the validator is %q", tag)
				}
				if tag == "" {
					continue
				}
				if a := s.get(t, "/", "Accept-Encoding", "gzip", "If-None-Match", tag); a.status != http.StatusNotModified || a.header.Get("ETag") != tag {
					t.Errorf("its own validator: %v", a)
				}
				if a := s.get(t, "/", "If-None-Match", tag); (a.status == http.StatusNotModified) != (c.coding != "gzip") {
					t.Errorf("the validator of another: %v", a)
				}
			}
			if n := s.c.Stats().Misses; n != 1 {
				t.Errorf("%d renderings", n)
			}
		})
	}
}

func missingText5000(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusNotFound)
	text(5000)(w, r)
}

// A range of an encoded page is a range of its encoded bytes.
func TestRangeOfAnEncodedPage(t *testing.T) {
	s := serve(t, text(5000, "ETag", `"v1"`), httpcache.Config{Encodings: codings})
	whole := s.get(t, "/", "Accept-Encoding", "gzip").body
	a := s.get(t, "/", "Accept-Encoding", "gzip", "Range", "bytes=10-29", "If-Range", `"v1-gzip"`)
	if a.status != http.StatusPartialContent || a.body != whole[10:30] || a.header.Get("Content-Encoding") != "gzip" || a.header.Get("Content-Length") != "20" {
		t.Error(a)
	}
	if a := s.get(t, "/", "Accept-Encoding", "gzip", "Range", "bytes=10-29", "If-Range", `"v1"`); a.status != http.StatusOK || a.body != whole {
		t.Error(a)
	}
}

// What invalidates a page invalidates its codings, in all processes and by every method.
func TestEncodingsInherit(t *testing.T) {
	for name, c := range map[string]struct {
		end func(*testing.T, server) error
	}{
		"tag":     {end: func(t *testing.T, s server) error { return s.c.PurgeTags(t.Context(), "a") }},
		"path":    {end: func(t *testing.T, s server) error { return s.c.PurgePath(t.Context(), "/") }},
		"request": {end: func(t *testing.T, s server) error { return s.c.Purge(t.Context(), request(t, http.MethodGet, "/")) }},
		"all":     {end: func(t *testing.T, s server) error { return s.c.PurgeAll(t.Context()) }},
		"expired": {end: func(t *testing.T, s server) error { return s.c.Expire(t.Context(), request(t, http.MethodGet, "/")) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				version := "one"
				servers, _ := fleet(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("ETag", `"same"`)
					cache.Depend(r.Context(), "a")
					text(5000)(w, r)
					fmt.Fprint(w, version)
				}, httpcache.Config{Encodings: codings})
				check := func() {
					t.Helper()
					for i, s := range servers {
						for range 2 {
							if a := s.get(t, "/", "Accept-Encoding", "gzip"); !strings.HasSuffix(unpacked(t, a), version) || a.header.Get("Content-Encoding") != "gzip" {
								t.Errorf("process %d: %v", i, a.header)
							}
						}
					}
				}
				check()
				version = "two"
				if err := c.end(t, servers[0]); err != nil {
					t.Error(err)
				}
				sleep(t, "3s")
				check()
			})
		})
	}
}
