package httpcache_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

func keepAll(string) bool { return true }

func keepSome(name string) bool { return len(name)%2 == 1 && !httpcache.Tracking(name) }

// Normalizing keeps the meaning of the parameters that matter, drops the others, gives one form
// to all queries of one meaning, and is idempotent.
func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "a=1&b=2", "b=2&a=1", "a=1&a=2", "a", "a=", "=a", "&&", "a=%20+x", "utm_source=x&c=1", "a;b", "%zz", "a=1=2", "é=ü", "a=%7C"} {
		f.Add(s)
	}
	f.Add("A" + strings.Repeat("%91", 1365)) // grows beyond the limit
	f.Fuzz(func(t *testing.T, raw string) {
		for _, keep := range []func(string) bool{keepAll, keepSome} {
			v, err := url.ParseQuery(raw)
			got, ok := httpcache.Normalize(raw, keep)
			if ok != (err == nil && len(raw) <= 4096) {
				t.Fatalf("Normalize(%q) is ok: %v, but parsing it: %v", raw, ok, err)
			}
			if !ok {
				continue
			}
			maps.DeleteFunc(v, func(name string, _ []string) bool { return !keep(name) })
			if want := v.Encode(); got != want {
				t.Errorf("Normalize(%q) = %q, want %q", raw, got, want)
			}
			if again, ok := httpcache.Normalize(got, keep); (again != got || !ok) && len(got) <= 4096 {
				t.Errorf("Normalize(%q) = %q, %v", got, again, ok)
			}
			if strings.ContainsAny(got, "|?# \r\n^") {
				t.Errorf("Normalize(%q) = %q has a separator", raw, got)
			}
		}
	})
}

// Queries in normal form are recognised without parsing.
func TestUsualQueriesAreCheap(t *testing.T) {
	for _, raw := range []string{"page=2", "a=1&b=x-y_z.~", "a=1&a=0"} {
		if !httpcache.IsNormal(raw, keepAll) {
			t.Errorf("%q is parsed", raw)
		}
		if n := testing.AllocsPerRun(100, func() { httpcache.Normalize(raw, keepAll) }); n != 0 {
			t.Errorf("%q: %v allocations", raw, n)
		}
	}
	for _, raw := range []string{"b=1&a=1", "a", "a=1&", "a=%31", "=1", "a=1=2"} {
		if httpcache.IsNormal(raw, keepAll) {
			t.Errorf("%q is taken for normal", raw)
		}
	}
}

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
