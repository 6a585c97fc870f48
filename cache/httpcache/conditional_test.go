package httpcache_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// document is a handler with its own validators.
func document(etag string, modified time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		if etag != "" {
			h.Set("ETag", etag)
		}
		if !modified.IsZero() {
			h.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
		}
		h.Set("Content-Type", "text/html")
		h.Set("Content-Language", "en")
		h.Set("Cache-Control", "max-age=60")
		h.Set("Content-Security-Policy", "default-src 'self'")
		_, _ = w.Write([]byte("document"))
	}
}

// Conditional requests are answered by RFC 9110 §13: on a hit, on a miss, with the cache off, and
// without a cache.
func TestConditional(t *testing.T) {
	then := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	at := func(d time.Duration) string { return then.Add(d).Format(http.TimeFormat) }
	cases := map[string]struct {
		header []string
		want   int
	}{
		"no condition":                 {nil, 200},
		"same":                         {[]string{"If-None-Match", `"v1"`}, 304},
		"other":                        {[]string{"If-None-Match", `"v2"`}, 200},
		"weak":                         {[]string{"If-None-Match", `W/"v1"`}, 304},
		"in a list":                    {[]string{"If-None-Match", `"v0", W/"v,2" ,"v1"`}, 304},
		"in a second line":             {[]string{"If-None-Match", `"v0"`, "If-None-Match", `"v1"`}, 304},
		"not in a list":                {[]string{"If-None-Match", `"v0", "v2"`}, 200},
		"any":                          {[]string{"If-None-Match", `*`}, 304},
		"without quotes":               {[]string{"If-None-Match", `v1`}, 200},
		"open quote":                   {[]string{"If-None-Match", `"v1`}, 200},
		"lower-case w":                 {[]string{"If-None-Match", `w/"v1"`}, 200},
		"empty":                        {[]string{"If-None-Match", ``}, 200},
		"part of a validator":          {[]string{"If-None-Match", `"v"`}, 200},
		"not modified since":           {[]string{"If-Modified-Since", at(0)}, 304},
		"not modified since later":     {[]string{"If-Modified-Since", at(time.Hour)}, 304},
		"modified since":               {[]string{"If-Modified-Since", at(-time.Second)}, 200},
		"since an old form of time":    {[]string{"If-Modified-Since", then.Format(time.RFC850)}, 304},
		"since no time":                {[]string{"If-Modified-Since", "yesterday"}, 200},
		"since two times":              {[]string{"If-Modified-Since", at(0), "If-Modified-Since", at(0)}, 200},
		"validator before time, other": {[]string{"If-None-Match", `"v2"`, "If-Modified-Since", at(time.Hour)}, 200},
		"validator before time, same":  {[]string{"If-None-Match", `"v1"`, "If-Modified-Since", at(-time.Hour)}, 304},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := document(`"v1"`, then)
			on, off := serve(t, h, httpcache.Config{}), serve(t, h, httpcache.Config{Off: true})
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				for how, s := range map[string]http.Handler{"on": on, "off": off, "without": httpcache.Conditional(h)} {
					for i := range 2 {
						a := do(s, request(t, method, "/"+method, c.header...))
						body := "document"
						if method == http.MethodHead || a.status == http.StatusNotModified {
							body = ""
						}
						if a.status != c.want || a.body != body || a.header.Get("ETag") != `"v1"` {
							t.Errorf("%s, %s, time %d: %v", method, how, i, a)
						}
						checkHeader(t, a)
					}
				}
			}
			if st := on.c.Stats(); (st.NotModified == 4) != (c.want == http.StatusNotModified) {
				t.Errorf("%+v", st)
			}
		})
	}
}

// checkHeader checks the header of a 200 or 304 by RFC 9110 §15.4.5.
func checkHeader(t *testing.T, a answer) {
	t.Helper()
	for _, name := range []string{"Cache-Control", "Content-Security-Policy"} {
		if a.header.Get(name) == "" {
			t.Errorf("%d without %s", a.status, name)
		}
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Language", "Last-Modified"} {
		if (a.header.Get(name) == "") != (a.status == http.StatusNotModified) {
			t.Errorf("%d with %s %q", a.status, name, a.header.Get(name))
		}
	}
}

// A response without a validator gets one: a hash of the representation, the same in every
// process.
func TestGeneratedETag(t *testing.T) {
	etag := func(cfg httpcache.Config, body string, header ...string) string {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			_, _ = w.Write([]byte(body))
		}, cfg)
		e := s.get(t, "/").header.Get("ETag")
		if again := s.get(t, "/", "If-None-Match", e); again.status != http.StatusNotModified || again.header.Get("ETag") != e {
			t.Errorf("%q does not validate: %v", e, again)
		}
		if len(e) != 45 || e[0] != '"' {
			t.Errorf("the validator is %q", e)
		}
		return e
	}
	base := etag(httpcache.Config{}, "body")
	for name, other := range map[string]string{
		"same":         etag(httpcache.Config{}, "body"),
		"off":          etag(httpcache.Config{Off: true}, "body"),
		"other header": etag(httpcache.Config{}, "body", "X-Id", "1"),
	} {
		if other != base {
			t.Errorf("%s: %s, want %s", name, other, base)
		}
	}
	all := []string{base, etag(httpcache.Config{}, "Body"), etag(httpcache.Config{}, ""), etag(httpcache.Config{}, "body", "Content-Type", "text/html"),
		etag(httpcache.Config{}, "body", "Content-Encoding", "gzip"), etag(httpcache.Config{}, "body", "Content-Language", "gzip")}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 6 {
		t.Errorf("%d validators for six representations", n)
	}
}

// Only a success can be a 304.
func TestConditionalNeedsSuccess(t *testing.T) {
	for _, code := range []int{http.StatusNotFound, http.StatusMovedPermanently, http.StatusGone, http.StatusInternalServerError} {
		s := serve(t, personal(status(code, set("ETag", `"v1"`))), httpcache.Config{})
		for range 2 {
			if a := s.get(t, "/", "If-None-Match", `"v1"`); a.status != code {
				t.Errorf("%d became %d", code, a.status)
			}
		}
	}
}

// HEAD has the header of GET and no body, on a miss and on a hit.
func TestHead(t *testing.T) {
	for _, off := range []bool{false, true} {
		for name, order := range map[string][]string{"get first": {"GET", "HEAD", "HEAD"}, "head first": {"HEAD", "GET", "HEAD"}} {
			t.Run(fmt.Sprint(name, off), func(t *testing.T) {
				h := new(counted)
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet {
						t.Errorf("the handler was asked to %s", r.Method)
					}
					h.ServeHTTP(w, r)
				}, httpcache.Config{Off: off})
				var first http.Header
				for _, method := range order {
					h.Store(0) // off: keep the body the same
					a := do(s, request(t, method, "/"))
					if (a.body == "rendering 1") != (method == "GET") || a.header.Get("Content-Length") != "11" || a.status != 200 {
						t.Errorf("%s: %v", method, a)
					}
					for _, varies := range []string{"Age", "Cache-Status"} {
						a.header.Del(varies)
					}
					if first == nil {
						first = a.header
					}
					if diff := cmp.Diff(first, a.header); diff != "" {
						t.Errorf("%s: %s", method, diff)
					}
				}
			})
		}
	}
}

// A page has the type that net/http would detect, or none if its handler suppresses it.
func TestContentType(t *testing.T) {
	for name, c := range map[string]struct {
		mark func(http.ResponseWriter, *http.Request)
		want []string
	}{
		"guessed":    {set("X", "y"), []string{"text/html; charset=utf-8"}},
		"given":      {set("Content-Type", "text/plain"), []string{"text/plain"}},
		"suppressed": {set("Content-Type"), []string{}},
		"encoded":    {set("Content-Encoding", "br"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				c.mark(w, r)
				_, _ = w.Write([]byte("<!DOCTYPE html>"))
				_, _ = w.Write([]byte(strings.Repeat("x", 1000)))
			}, httpcache.Config{})
			srv := listen(t, s)
			for range 2 {
				a, err := fetch(t, srv, "/", "Accept-Encoding", "identity")
				if got := a.header["Content-Type"]; !slices.Equal(got, c.want) || err != nil {
					t.Errorf("%q, want %q: %v", got, c.want, err)
				}
			}
		})
	}
}
