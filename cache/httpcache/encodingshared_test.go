package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

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

// A page that is revalidated before every use is encoded each time. Its client revalidates with
// the validator of the coding.
func TestEncodedPageThatIsAlwaysAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{script: [][]string{
			{"Cache-Control", "no-cache", "ETag", `"v1"`, "Content-Type", "text/plain"},
			{"Cache-Control", "no-cache", "ETag", `"v1"`, ":status", "304"},
		}}
		page := text(2000)
		o.serve = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") == `"v1"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			page(w, r)
		}
		s := proxied(t, o, httpcache.Config{Encodings: codings})
		for i := range 3 {
			a := s.get(t, "/", "Accept-Encoding", "gzip")
			if len(unpacked(t, a)) != 2000 || a.header.Get("Content-Encoding") != "gzip" || a.header.Get("ETag") != `"v1-gzip"` {
				t.Errorf("time %d: %v", i, a.header)
			}
			sleep(t, "1s")
		}
		if a := s.get(t, "/", "Accept-Encoding", "gzip", "If-None-Match", `"v1-gzip"`); a.status != http.StatusNotModified || a.header.Get("ETag") != `"v1-gzip"` {
			t.Error(a)
		}
		if n := o.asked(); n != 4 {
			t.Errorf("asked %d times", n)
		}
	})
}

// A coding belongs to the stored page. When that page is replaced early, the coding is replaced
// for all clients.
func TestCodingOfAPageThatIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			text(5000, "Cache-Control", "max-age=60")(w, r)
			fmt.Fprint(w, " ", asked)
		}), httpcache.Config{Encodings: codings})
		for i, step := range []struct {
			accept string
			early  bool
			want   string
		}{
			{"gzip", false, "1"}, {"zstd", false, "1"}, {"", true, "2"}, {"gzip", false, "2"}, {"zstd", true, "3"}, {"gzip", false, "3"}, {"zstd", false, "3"},
		} {
			sleep(t, "1s")
			if step.early {
				if err := s.c.Expire(t.Context(), request(t, http.MethodGet, "/")); err != nil {
					t.Fatal(err)
				}
			}
			a := s.get(t, "/", "Accept-Encoding", step.accept)
			if !strings.HasSuffix(unpacked(t, a), " "+step.want) || a.header.Get("Content-Encoding") != step.accept {
				t.Errorf("step %d: %v, want rendering %s", i, a.header, step.want)
			}
		}
	})
}

// A response that is not stored is not encoded, and does not need a second rendering.
func TestWhatIsNotStoredIsNotEncoded(t *testing.T) {
	for name, header := range map[string][]string{
		"private": {"Cache-Control", "private"}, "silent": nil, "stream": {"Content-Length", "3000000"},
	} {
		asked := 0
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			text(2000, header...)(w, r)
		}), httpcache.Config{Encodings: codings})
		for i := range 3 {
			a := s.get(t, "/", "Accept-Encoding", "gzip")
			if a.header.Get("Content-Encoding") != "" || len(a.body) != 2000 || asked != i+1 {
				t.Errorf("%s: %d renderings: %v", name, asked, a.header)
			}
		}
	}
}

// A page that a 304 renews keeps its coding, with the new header.
func TestRenewedPageInACoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{script: [][]string{
			{"Cache-Control", "max-age=5", "ETag", `"v1"`, "X-Of", "first"},
			{"Cache-Control", "max-age=5", "ETag", `"v1"`, "X-Of", "second", ":status", "304"},
			{"Cache-Control", "max-age=5, no-transform", "ETag", `"v1"`, ":status", "304"},
		}}
		o.serve = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			text(2000)(w, r)
		}
		s := proxied(t, o, httpcache.Config{Encodings: codings})
		for _, want := range []struct{ of, coding string }{{"first", "gzip"}, {"second", "gzip"}, {"second", ""}} {
			for range 2 {
				a := s.get(t, "/", "Accept-Encoding", "gzip")
				if len(unpacked(t, a)) != 2000 || a.header.Get("X-Of") != want.of || a.header.Get("Content-Encoding") != want.coding {
					t.Errorf("%v, want %v", a.header, want)
				}
			}
			sleep(t, "6s")
		}
	})
}
