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

// A form keeps the meaning of the parameters that matter, drops the others, gives one form
// to all queries of one meaning, and is idempotent.
func FuzzForm(f *testing.F) {
	for _, s := range []string{"", "a=1&b=2", "b=2&a=1", "a=1&a=2", "a", "a=", "=a", "&&", "a=%20+x", "utm_source=x&c=1", "a;b", "%zz", "a=1=2", "é=ü", "a=%7C"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, keep := range []func(string) bool{keepAll, keepSome} {
			v, err := url.ParseQuery(raw)
			got, ok := httpcache.Form(raw, keep)
			if ok != (err == nil) {
				t.Fatalf("Form(%q) is ok: %v, but parsing it: %v", raw, ok, err)
			}
			if !ok {
				continue
			}
			maps.DeleteFunc(v, func(name string, _ []string) bool { return !keep(name) })
			if want := v.Encode(); got != want {
				t.Errorf("Form(%q) = %q, want %q", raw, got, want)
			}
			if again, ok := httpcache.Form(got, keep); again != got || !ok {
				t.Errorf("Form(%q) = %q, %v", got, again, ok)
			}
			if strings.ContainsAny(got, "|?# \r\n^") {
				t.Errorf("Form(%q) = %q has a separator", raw, got)
			}
		}
	})
}

// Queries in normal form are recognised without parsing.
func TestUsualQueriesAreCheap(t *testing.T) {
	for _, raw := range []string{"page=2", "a=1&b=x-y_z.~", "a=1&a=0"} {
		if !httpcache.IsForm(raw, keepAll) {
			t.Errorf("%q is parsed", raw)
		}
		if n := testing.AllocsPerRun(100, func() { httpcache.Form(raw, keepAll) }); n != 0 {
			t.Errorf("%q: %v allocations", raw, n)
		}
	}
	for _, raw := range []string{"page=2", "b=1&a=%C3%A9&c"} {
		if n := testing.AllocsPerRun(100, func() { httpcache.Normal(raw) }); n != 0 {
			t.Errorf("the normal form of %q: %v allocations", raw, n)
		}
	}
	for _, raw := range []string{"b=1&a=1", "a", "a=1&", "a=%31", "=1", "a=1=2"} {
		if httpcache.IsForm(raw, keepAll) {
			t.Errorf("%q is taken for normal", raw)
		}
	}
}

// The normal form of a URI means the same, has the same separators, and is its own normal form.
func FuzzNormal(f *testing.F) {
	for _, s := range []string{"", "a=%7e", "%41%2f%c3%A9", "%%34%31", "a|b^7C", "%", "%4", "a+b%20c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := httpcache.Normal(raw)
		if again := httpcache.Normal(got); again != got {
			t.Errorf("Normal(%q) = %q, then %q", raw, got, again)
		}
		before, err := url.PathUnescape(raw)
		after, errAfter := url.PathUnescape(got)
		if before != after || (err == nil) != (errAfter == nil) || err != nil && got != raw {
			t.Errorf("Normal(%q) = %q, which means %q (%v), want %q (%v)", raw, got, after, errAfter, before, err)
		}
		for _, c := range "!$&'()*+,;=:@/?[]|^" { // they mean something else without an escape
			if s := string(c); strings.Count(raw, s) != strings.Count(got, s) {
				t.Errorf("Normal(%q) = %q has another number of %s", raw, got, s)
			}
		}
	})
}

// No two queries are spelled alike in a key, and none has a separator of the key.
func TestQueriesInKeys(t *testing.T) {
	s := serve(t, http.NotFound, httpcache.Config{})
	seen := map[string]string{}
	const letters = "%^|7Ca"
	for n := range 6 * 6 * 6 * 6 * 6 * 6 {
		query := ""
		for ; n > 0; n /= 6 {
			query += letters[n%6 : n%6+1]
		}
		r := request(t, http.MethodGet, "/")
		r.URL.RawQuery = query
		k, ok := s.c.Key(r)
		if !ok {
			t.Fatalf("%q has no key", query)
		}
		id, normal := k.Text(), httpcache.Normal(query)
		if other, ok := seen[id]; ok && other != normal || strings.Contains(id, "|") {
			t.Fatalf("%q and %q have the key %q", normal, other, id)
		}
		seen[id] = normal
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
