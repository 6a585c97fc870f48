package httpcache_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// mirror is a handler that writes everything it can see of a request.
func mirror(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s\nhost %s\npath %s (%s)\nquery %s\n", r.Method, r.RequestURI, r.Host, r.URL.Path, r.URL.EscapedPath(), r.URL.RawQuery)
	fmt.Fprintf(w, "tls %v proto %s from %s\nurl %s\n", r.TLS != nil, r.Proto, r.RemoteAddr, r.URL)
	fmt.Fprintf(w, "header %v body %v length %d form %v value %v\n", r.Header, r.Body == http.NoBody, r.ContentLength, r.Form, r.Context().Value(userKey{}))
}

type userKey struct{}

// picky returns the configuration of a site whose pages depend on many parts of a request.
func picky() httpcache.Config {
	return httpcache.Config{
		Tracking: httpcache.Tracking,
		Query: func(path string) ([]string, bool) {
			if path == "/list" {
				return []string{"page", "tag"}, true
			}
			return nil, false
		},
		Vary: []httpcache.VaryRule{
			{Header: "accept", Normalize: func(v string) string {
				if strings.Contains(v, "json") {
					return "application/json"
				}
				return ""
			}, On: func(path string) bool { return path == "/list" }},
			{Header: "X-Lang"},
		},
	}
}

// Requests that mean the same share one entry, others do not. The handler sees the same for all
// requests of one entry. (W-E6)
func TestKeys(t *testing.T) {
	type pair struct {
		a, b   []string // target, then header
		change func(b *http.Request)
		same   bool
	}
	cases := map[string]pair{
		"query order":            {a: []string{"/list?tag=2&page=1"}, b: []string{"/list?page=1&tag=2"}, same: true},
		"query spelling":         {a: []string{"/list?page=x%20y&tag"}, b: []string{"/list?page=x+y&tag="}, same: true},
		"empty query":            {a: []string{"/list?"}, b: []string{"/list"}, same: true},
		"order of no filter":     {a: []string{"/?b=2&a=1"}, b: []string{"/?a=1&b=2"}},
		"spelling of no filter":  {a: []string{"/?a=x%20y"}, b: []string{"/?a=x+y"}},
		"empty, of no filter":    {a: []string{"/?"}, b: []string{"/"}},
		"equivalent escapes":     {a: []string{"/?%61=%c3%a9"}, b: []string{"/?a=%C3%A9"}, same: true},
		"a bad escape":           {a: []string{"/?a=%zz&utm_source=x"}, b: []string{"/?a=%zz"}, same: true},
		"a name with one":        {a: []string{"/?utm_source%zz=1"}, b: []string{"/"}},
		"a semicolon":            {a: []string{"/?a=1;b=2"}, b: []string{"/?a=1&b=2"}},
		"one after tracking":     {a: []string{"/?utm_source=x;a=1"}, b: []string{"/?utm_source=x"}},
		"tracking":               {a: []string{"/?utm_source=x&fbclid=1&a=1"}, b: []string{"/?a=1"}, same: true},
		"ignored parameter":      {a: []string{"/list?page=2&x=1"}, b: []string{"/list?page=2&x=<script>"}, same: true},
		"parameter of no filter": {a: []string{"/?x=1"}, b: []string{"/?x=2"}},
		"parameter that matters": {a: []string{"/list?page=2"}, b: []string{"/list?page=3"}},
		"repeated parameter":     {a: []string{"/?a=1&a=2"}, b: []string{"/?a=2&a=1"}},
		"parameter or value":     {a: []string{"/?a=b%26c%3Dd"}, b: []string{"/?a=b&c=d"}},
		"query or path":          {a: []string{"/a%3Fb=1"}, b: []string{"/a?b=1"}},
		"escaped slash":          {a: []string{"/a%2Fb"}, b: []string{"/a/b"}},
		"trailing slash":         {a: []string{"/a/"}, b: []string{"/a"}},
		"path case":              {a: []string{"/A"}, b: []string{"/a"}},
		"head":                   {a: []string{"/"}, b: []string{"/"}, change: func(b *http.Request) { b.Method = http.MethodHead }, same: true},
		"host case":              {a: []string{"/", "Host", "EXAMPLE.com"}, b: []string{"/", "Host", "example.COM"}, same: true},
		"host":                   {a: []string{"/", "Host", "a.example"}, b: []string{"/", "Host", "b.example"}},
		"port":                   {a: []string{"/", "Host", "a:80"}, b: []string{"/", "Host", "a:81"}},
		"host or path":           {a: []string{"/c", "Host", "a.b"}, b: []string{"/b/c", "Host", "a."}},
		"scheme": {a: []string{"/"}, b: []string{"/"}, change: func(b *http.Request) {
			b.TLS = &tls.ConnectionState{ServerName: "example.com"}
		}},
		"forwarded host":   {a: []string{"/", "X-Forwarded-Host", "evil"}, b: []string{"/"}, same: true},
		"original url":     {a: []string{"/", "X-Original-URL", "/evil", "X-Rewrite-URL", "/evil"}, b: []string{"/"}, same: true},
		"forwarded":        {a: []string{"/", "Forwarded", "host=evil", "X-Forwarded-Proto", "gopher"}, b: []string{"/"}, same: true},
		"method override":  {a: []string{"/", "X-HTTP-Method-Override", "DELETE"}, b: []string{"/"}, same: true},
		"agent":            {a: []string{"/", "User-Agent", "x"}, b: []string{"/", "User-Agent", "y"}, same: true},
		"conditions":       {a: []string{"/", "If-Modified-Since", "x"}, b: []string{"/"}, same: true},
		"class of accept":  {a: []string{"/list", "Accept", "application/json"}, b: []string{"/list", "Accept", "text/x, application/json;q=0.1"}, same: true},
		"other class":      {a: []string{"/list", "Accept", "application/json"}, b: []string{"/list", "Accept", "text/html"}},
		"accept elsewhere": {a: []string{"/", "Accept", "application/json"}, b: []string{"/", "Accept", "text/html"}, same: true},
		"raw header":       {a: []string{"/", "X-Lang", "de"}, b: []string{"/", "X-Lang", "en"}},
		"header or query":  {a: []string{"/?a=1", "X-Lang", "de"}, b: []string{"/?a=1%7Cx-lang=de"}},
		"whole URL":        {a: []string{"http://Example.com/a?b"}, b: []string{"/a?b"}, same: true},
		"header or none":   {a: []string{"/", "X-Lang", ""}, b: []string{"/"}, same: true},
		"header lines":     {a: []string{"/", "X-Lang", "a", "X-Lang", "b"}, b: []string{"/", "X-Lang", "a, b"}, same: true},
		"proto and peer": {a: []string{"/"}, b: []string{"/"}, change: func(b *http.Request) {
			b.Proto, b.ProtoMajor, b.ProtoMinor, b.RemoteAddr = "HTTP/1.0", 1, 0, "203.0.113.7:1"
		}, same: true},
		"form":              {a: []string{"/"}, b: []string{"/"}, change: func(b *http.Request) { b.Form = map[string][]string{"a": {"b"}} }, same: true},
		"rewritten outside": {a: []string{"/x"}, b: []string{"/y/x"}, change: func(b *http.Request) { b.URL.Path = "/x" }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ra := func() *http.Request { return request(t, http.MethodGet, c.a[0], c.a[1:]...) }
			rb := func() *http.Request {
				r := request(t, http.MethodGet, c.b[0], c.b[1:]...)
				if c.change != nil {
					c.change(r)
				}
				return r
			}
			s := serve(t, mirror, picky())
			ka, oka := s.c.Key(ra())
			kb, okb := s.c.Key(rb())
			if !oka || !okb || (ka.Text() == kb.Text()) != c.same {
				t.Errorf("keys %q (%v) and %q (%v)", ka.Text(), oka, kb.Text(), okb)
			}
			first, second := do(s, ra()), do(s, rb())
			if first.hit() || second.hit() != c.same {
				t.Errorf("%v, then %v", first, second)
			}
			// The page is the same whichever client comes first: it contains nothing of a client.
			o := serve(t, mirror, picky())
			if third := do(o, rb()); rb().Method == http.MethodGet && third.body != second.body {
				t.Errorf("the page depends on the first client:\n%s", cmp.Diff(second.body, third.body))
			}
		})
	}
}

// The handler sees what is in the key, and nothing else.
func TestHandlerSeesTheKeyAlone(t *testing.T) {
	s := serve(t, mirror, picky())
	r := request(t, http.MethodHead, "/list?z=1&page=2&utm_campaign=x", "Host", "Example.COM:80", "Accept", "application/json, */*", "X-Lang", "de",
		"User-Agent", "u", "Referer", "r", "X-Forwarded-For", "1.2.3.4", "If-None-Match", `"x"`, "Accept-Encoding", "gzip")
	do(s, r)
	r.Method = http.MethodGet
	a := do(s, r)
	want := `GET /list?page=2
host example.com:80
path /list (/list)
query page=2
tls false proto HTTP/1.1 from 0.0.0.0:0
url /list?page=2
header map[Accept:[application/json] X-Lang:[de]] body true length 0 form map[] value <nil>
`
	if !a.hit() || a.body != want {
		t.Errorf("%v\n%s", a, cmp.Diff(want, a.body))
	}
}

// One cache keeps handlers below different prefixes apart.
func TestStripPrefix(t *testing.T) {
	var of [2]counted
	s := serve(t, of[0].ServeHTTP, httpcache.Config{})
	other := s.c.Handler(&of[1])
	mux := http.NewServeMux()
	mux.Handle("/a/", http.StripPrefix("/a", s))
	mux.Handle("/b/", http.StripPrefix("/b", other))
	for range 2 {
		do(mux, request(t, http.MethodGet, "/a/x"))
		do(mux, request(t, http.MethodGet, "/b/x"))
	}
	if of[0].Load() != 1 || of[1].Load() != 1 {
		t.Errorf("%d and %d renderings, want one each", of[0].Load(), of[1].Load())
	}
}

// An operator can read a key and invalidate by it.
func TestKeyAndPrefix(t *testing.T) {
	s := serve(t, mirror, picky())
	r := request(t, http.MethodGet, "/list?page=2", "Accept", "application/json", "Host", "example.com:8080")
	entry, ok := s.c.Key(r)
	k, want := entry.Text(), "default:http:v1:http//example.com%3A8080/list?page=2|accept=application^2Fjson"
	if k != want || !ok {
		t.Errorf("Key = %q, %v, want %q", k, ok, want)
	}
	under := s.c.Prefix("http://example.com:8080", "/li")
	if !strings.HasPrefix(k, under.Text()) {
		t.Errorf("%q does not begin with %q", k, under.Text())
	}
	if k, ok := s.c.Key(request(t, http.MethodPost, "/")); ok || s.tiers.Invalidate(t.Context(), k) == nil {
		t.Errorf("Key of a POST = %q", k.Text())
	}
	for _, origin := range []string{"example.com", "ftp://example.com", "https://", "https://example.com/"} {
		if err := s.tiers.Invalidate(t.Context(), s.c.Prefix(origin, "/")); err == nil || !strings.Contains(err.Error(), "want a scheme and a host") {
			t.Errorf("Prefix of the origin %q: %v", origin, err)
		}
	}
	do(s, r)
	if err := s.tiers.Invalidate(t.Context(), under); err != nil {
		t.Fatal(err)
	}
	if a := do(s, r); a.hit() {
		t.Error("a prefix did not reach its keys")
	}
}

// Prefix covers paths with all the characters that browsers send as they are.
func TestPrefixSpecialCharacters(t *testing.T) {
	s := serve(t, mirror, picky())
	const path = "/wiki/Go_(language)!*'[é"
	r := request(t, http.MethodGet, "/wiki/Go_(language)!*'[%C3%A9?page=2", "Host", "example.com")
	do(s, r)
	if a := do(s, r); !a.hit() {
		t.Fatalf("the page is not stored: %v", a.how())
	}
	if err := s.tiers.Invalidate(t.Context(), s.c.Prefix("http://example.com", path)); err != nil {
		t.Fatal(err)
	}
	if a := do(s, r); a.hit() {
		t.Error("a prefix did not reach the key")
	}
}

// Keys of the library and of httpcache agree: Purge invalidates the page that was served.
func TestPurge(t *testing.T) {
	h := new(counted)
	s := serve(t, h.ServeHTTP, httpcache.Config{Vary: []httpcache.VaryRule{{Header: "X-Lang"}}})
	targets := []string{"/a", "/a?page=2", "/b", "/" + strings.Repeat("é", 100)}
	all := func() (hits []string) {
		for _, target := range targets {
			for _, lang := range []string{"de", "en"} {
				if s.get(t, target, "X-Lang", lang).hit() {
					hits = append(hits, target+" "+lang)
				}
			}
		}
		return hits
	}
	all()
	everything := all()
	if len(everything) != 2*len(targets) {
		t.Fatalf("only %v", everything)
	}
	for name, c := range map[string]struct {
		purge func() error
		gone  func(string) bool
	}{
		"entry": {
			func() error { return s.c.Purge(t.Context(), request(t, http.MethodGet, "/a", "X-Lang", "de")) },
			func(e string) bool { return e == "/a de" },
		},
		"path": {
			func() error { return s.c.PurgePath(t.Context(), "/a") },
			func(e string) bool { return strings.HasPrefix(e, "/a") },
		},
		"long path": {
			func() error { return s.c.PurgePath(t.Context(), "/"+strings.Repeat("é", 100)) },
			func(e string) bool { return strings.HasPrefix(e, "/é") },
		},
		"all": {
			func() error { return s.c.PurgeAll(t.Context()) },
			func(string) bool { return true },
		},
		"what is not cached": {
			func() error { return s.c.Purge(t.Context(), request(t, http.MethodPost, "/a")) },
			func(string) bool { return false },
		},
	} {
		if err := c.purge(); err != nil {
			t.Error(name, err)
		}
		want := slices.DeleteFunc(slices.Clone(everything), c.gone)
		if got := all(); !slices.Equal(got, want) {
			t.Errorf("%s: %v is still there, want %v", name, got, want)
		}
		all()
	}
}

// A header that an outer handler sets is not part of the page.
func TestOuterHeader(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Vary", "X-Lang")
		w.Header().Set("X-Id", "inner")
	}, httpcache.Config{Vary: []httpcache.VaryRule{{Header: "X-Lang"}}})
	get := func(id string) http.Header {
		w := httptest.NewRecorder()
		w.Header().Set("Set-Cookie", id)
		w.Header().Set("X-Id", id)
		w.Header().Set("Vary", "Origin")
		s.ServeHTTP(w, request(t, http.MethodGet, "/"))
		return w.Header()
	}
	for _, id := range []string{"alice", "bob"} {
		h := get(id)
		if h.Get("Set-Cookie") != id || h.Get("X-Id") != "inner" || !slices.Equal(h["Vary"], []string{"Origin", "X-Lang"}) {
			t.Errorf("%s got %v", id, h)
		}
		h["Vary"][1] = "changed" // an outer handler changes its header
		h["X-Id"][0] = "changed"
	}
	if h := get("carol"); h.Get("X-Id") != "inner" {
		t.Errorf("the page was changed: %v", h)
	}
}

// Behind something that ends TLS, Secure decides the scheme. A request made by Cache.Request has
// its own.
func TestSecure(t *testing.T) {
	s := serve(t, mirror, httpcache.Config{Secure: func(r *http.Request) bool { return r.Header.Get("X-Forwarded-Proto") == "https" }})
	key := func(r *http.Request, err error) string {
		t.Helper()
		entry, ok := s.c.Key(r)
		if err != nil || !ok {
			t.Fatalf("%v, %v", err, ok)
		}
		return entry.Text()
	}
	seen := key(request(t, http.MethodGet, "/", "X-Forwarded-Proto", "https"), nil)
	if made := key(s.c.Request(t.Context(), "https://example.com/", nil)); made != seen {
		t.Errorf("%s, want %s", made, seen)
	}
	plain := key(request(t, http.MethodGet, "/"), nil)
	if made := key(s.c.Request(t.Context(), "http://example.com/", http.Header{"X-Forwarded-Proto": {"https"}})); made != plain || plain == seen {
		t.Errorf("%s, want %s", made, plain)
	}
}
