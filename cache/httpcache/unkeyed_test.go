package httpcache_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

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
		}), httpcache.Config{})
		own, other := s.get(t, "/?"+c.query), s.get(t, "/")
		if own.body != "from "+c.own+"!" || other.body != "from !" || !other.hit() {
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
		}), httpcache.Config{})
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
		}), httpcache.Config{})
		own, other := s.get(t, "/?"+query), s.get(t, "/")
		if len(own.body) != 64<<10 || !other.hit() || asked != want {
			t.Errorf("%.20s: asked %d times, want %d; %s, then %s", query, asked, want, own.how(), other.how())
		}
	}
}
