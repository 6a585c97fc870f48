package httpcache_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// An encoded response is only for clients that ask as its client did, even if its origin forgot Vary.
// Without it, a client that did not ask for the coding would get what it cannot read.
func TestEncodedWithoutVary(t *testing.T) {
	origin := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=10, stale-while-revalidate=60")
			w.Header().Set("Etag", `"a"`)
			coding := r.Header.Get("Accept-Encoding")
			if coding != "" {
				w.Header().Set("Content-Encoding", coding)
			}
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, "in "+coding)
		})
	}
	sides(t, httpcache.Config{}, origin, func(t *testing.T, get func(...string) answer) {
		for _, wait := range []string{"0s", "5s", "11s"} { // 304 in the end
			sleep(t, wait)
			if a := get("Accept-Encoding", "gzip"); a.body != "in gzip" {
				t.Errorf("a client that reads gzip gets %v", a)
			}
			if a := get(); a.body != "in " {
				t.Errorf("a client that reads no coding gets %v", a)
			}
		}
		if a := get("Accept-Encoding", "gzip"); !a.hit() {
			t.Errorf("the encoded response is not stored: %v", a)
		}
	})
}

// A response that varies on Host is stored, because the host is in its key.
func TestVaryOnTheHost(t *testing.T) {
	origin := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			w.Header().Set("Vary", "host, Accept")
			fmt.Fprint(w, r.Host, r.Header["Accept"])
		})
	}
	sides(t, httpcache.Config{}, origin, func(t *testing.T, get func(...string) answer) {
		for i := range 2 {
			for _, host := range []string{"a.example", "b.example"} {
				for _, accept := range []string{"a", "b"} {
					if a := get("Host", host, "Accept", accept); a.body != host+"["+accept+"]" || a.hit() != (i == 1) {
						t.Errorf("%s, %s: %v", host, accept, a)
					}
				}
			}
		}
	})
}

// A response that varies on a credential is for all clients of the cache, because the handler sees no
// client's credential. Frameworks send Vary: Cookie with every page.
func TestVaryOnACredential(t *testing.T) {
	for name, cfg := range map[string]httpcache.Config{
		"Cookie":        {IgnoreCookie: func(name string) bool { return name == "_ga" }},
		"Authorization": {AllowAuthorized: anybody},
		"X-Token":       {AllowAuthorized: anybody, Credentials: []string{"x-token"}},
	} {
		for _, first := range []string{"", "_ga=1"} {
			asked := 0
			s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				w.Header().Set("Cache-Control", "max-age=60")
				w.Header().Set("Vary", name)
				fmt.Fprint(w, "page", r.Header[name])
			}), cfg)
			for i, value := range []string{first, "_ga=1", "_ga=2", ""} {
				var header []string
				if value != "" {
					header = []string{name, value}
				}
				if a := s.get(t, "/", header...); a.body != "page[]" || a.hit() != (i > 0) {
					t.Errorf("%s: %q gets %v", name, value, a)
				}
			}
			if asked != 1 {
				t.Errorf("%s: asked %d times", name, asked)
			}
		}
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			w.Header().Set("Vary", name)
			fmt.Fprint(w, "page", r.Header[name])
		}), httpcache.Config{Credentials: cfg.Credentials})
		s.get(t, "/")
		for _, value := range []string{"one", "two"} {
			if a := s.get(t, "/", name, value); a.body != "page["+value+"]" || a.hit() {
				t.Errorf("%s that is not allowed: %v", name, a)
			}
		}
	}
}

// A header's name means the same in every spelling. An outer handler may write names that are not canonical
// into the header of a request.
func TestOddNames(t *testing.T) {
	for _, c := range []struct {
		name, header, canonical string
		shared                  bool // no client's value is seen
	}{
		{"authorization", "authorization", "Authorization", false},
		{"a cookie", "COOKIE", "Cookie", false},
		{"a credential of the program", "X-User-ID", "X-User-Id", false},
		{"a header of Vary", "X-Plan", "X-Plan", false},
		{"a header of Vary, odd", "x-plan", "X-Plan", false},
		{"a hidden header", "x-forwarded-for", "X-Forwarded-For", true},
	} {
		origin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			w.Header().Set("Vary", "X-Plan")
			fmt.Fprint(w, "for", r.Header[c.header], r.Header[c.canonical])
		})
		s := proxied(t, origin, httpcache.Config{Credentials: []string{"X-User-ID"}})
		get := func(value string) answer {
			r := request(t, http.MethodGet, "/")
			r.Header[c.header] = []string{value}
			return do(s, r)
		}
		a, b := get("one"), get("two")
		if same := a.body == b.body; same != c.shared || c.shared && a.body != "for[] []" {
			t.Errorf("%s: %v, then %v", c.name, a, b)
		}
		if again := get("one"); again.body != a.body {
			t.Errorf("%s: %v, then %v", c.name, a, again)
		}
	}
}

// A parameter that is not in the key is in no stored page, in no script and no spelling.
func TestUnkeyedParameters(t *testing.T) {
	value := func(r *http.Request) string { return r.URL.Query().Get("utm_source") }
	for name, c := range map[string]struct {
		query string
		shown func(*http.Request) string
		own   string
	}{
		"ASCII":           {"utm_source=moscow", value, "moscow"},
		"Cyrillic":        {"utm_source=%D0%9C%D0%BE%D1%81%D0%BA%D0%B2%D0%B0", value, "Москва"},
		"Chinese":         {"utm_source=%E8%8E%AB", value, "莫"},
		"not UTF-8":       {"utm_source=%FF%FE%FD", value, "\xff\xfe\xfd"},
		"no letters":      {"utm_source=%3C!--", value, "<!--"},
		"capitals":        {"utm_source=moscow", func(r *http.Request) string { return strings.ToUpper(value(r)) }, "MOSCOW"},
		"a title":         {"utm_source=MOSCOW", func(r *http.Request) string { return strings.ToLower(value(r)) }, "moscow"},
		"escaped again":   {"utm_source=%D0%9C%D0%BE", func(r *http.Request) string { return url.QueryEscape(value(r)) }, "%D0%9C%D0%BE"},
		"an escaped name": {"utm%5fsource=x", func(r *http.Request) string { return r.URL.RawQuery }, "utm%5fsource=x"},
	} {
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprintf(w, "from %s!", c.shown(r))
		}), httpcache.Config{Tracking: httpcache.Tracking})
		own, other := s.get(t, "/?"+c.query), s.get(t, "/")
		if own.body != "from "+c.own+"!" || other.body != "from !" || !other.hit() {
			t.Errorf("%s: %v, and another client gets %v", name, own, other)
		}
	}
}

// Only these forms of a dropped parameter are looked for. The page that has another form is stored for all: a program
// drops what its handler does not read.
func TestOtherFormsOfParameters(t *testing.T) {
	for name, shown := range map[string]func(value string) string{
		"base64":           func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
		"that it is there": func(v string) string { return fmt.Sprint(v != "") },
		"a short value":    func(v string) string { return v[:min(2, len(v))] },
	} {
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprint(w, shown(r.URL.Query().Get("utm_source")))
		}), httpcache.Config{Tracking: httpcache.Tracking})
		own, other := s.get(t, "/?utm_source=moscow"), s.get(t, "/")
		if own.body != shown("moscow") || other.body != own.body || !other.hit() {
			t.Errorf("%s: %v, and another client gets %v", name, own, other)
		}
	}
}

// A 304 that shows a parameter confirms the page for its own client only. The page is confirmed once more
// for the others.
func TestConfirmedWithUnkeyedParameter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			h := w.Header()
			h.Set("Cache-Control", "max-age=60")
			h.Set("Etag", `"v"`)
			h.Set("Link", "<"+r.RequestURI+">; rel=canonical")
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, "page of a spring")
		}), httpcache.Config{Tracking: httpcache.Tracking})
		for i, visit := range []struct {
			target, link string
			asked        int
			hit          bool
		}{
			{"/", "</>; rel=canonical", 1, false},
			{"/?utm_source=evil", "</?utm_source=evil>; rel=canonical", 3, false},
			{"/", "</>; rel=canonical", 3, true},
			{"/?utm_source=evil", "</>; rel=canonical", 3, true},
		} {
			a := s.get(t, visit.target)
			if a.body != "page of a spring" || a.header.Get("Link") != visit.link || asked != visit.asked || a.hit() != visit.hit {
				t.Errorf("visit %d: %v, after %d requests", i, a, asked)
			}
			if i == 0 {
				sleep(t, "2m")
			}
		}
	})
}

// A page that is too long to be searched for all words of a query counts as one that shows them. So a long query
// costs one more request, and not a long search.
func TestManyUnkeyedWords(t *testing.T) {
	var words []string
	for i := range 700 {
		words = append(words, fmt.Sprintf("%04x", i))
	}
	for query, want := range map[string]int{
		"utm_source=" + strings.Join(words, "-"):            2,
		"utm_source=" + strings.Repeat("spring-", 500):      1, // one word
		"utm_source=news&utm_medium=mail&utm_campaign=sale": 1,
	} {
		asked := 0
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprint(w, strings.Repeat("z", 64<<10))
		}), httpcache.Config{Tracking: httpcache.Tracking})
		own, other := s.get(t, "/?"+query), s.get(t, "/")
		if len(own.body) != 64<<10 || !other.hit() || asked != want {
			t.Errorf("%.20s: asked %d times, want %d; %s, then %s", query, asked, want, own.how(), other.how())
		}
	}
}
