package httpcache_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// For any Vary header, the cache learns only a few header names.
func FuzzVary(f *testing.F) {
	f.Add("Accept, X-A", "x-a,,*")
	f.Add("\x00, \"a\"", "Range")
	s := proxied(f, http.NotFoundHandler(), httpcache.Config{})
	f.Fuzz(func(t *testing.T, a, b string) {
		names, ok := s.c.Learned([]string{a, b})
		if !ok {
			return
		}
		if len(names) > 8 || !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Fatalf("%q", names)
		}
		for _, n := range names {
			if n == "*" || n == "Range" || n == "" || n != http.CanonicalHeaderKey(n) {
				t.Fatalf("%q", names)
			}
		}
	})
}

// For any bytes that a remote tier returns for a page, nothing panics.
func FuzzStoredPage(f *testing.F) {
	f.Add(httpcache.Encoded(200, http.Header{"Cache-Control": {"max-age=9"}, "Vary": {"Accept"}}, []byte("body")), `"a"`)
	f.Add(httpcache.Encoded(404, http.Header{"Etag": {`W/"a"`}}, nil), `W/"a"`)
	f.Add([]byte{0xa1, 0x66, 'S', 't', 'a', 't', 'u', 's', 0}, "*")
	s := proxied(f, http.NotFoundHandler(), httpcache.Config{})
	f.Fuzz(func(t *testing.T, stored []byte, tag string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("If-None-Match", tag)
		s.c.Send(httptest.NewRecorder(), r, stored)
	})
}
