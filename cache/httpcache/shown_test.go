package httpcache_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// allowedOrigin is a rule that knows one value of Origin.
var allowedOrigin = httpcache.VaryRule{Header: "Origin", Normalize: func(v string) string {
	if v == "https://friend" {
		return v
	}
	return ""
}}

// forOrigin answers with the header that every handler of cross-origin requests writes.
func forOrigin(cc string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", cc)
		w.Header().Set("Vary", "Origin")
		if o := r.Header["Origin"]; len(o) > 0 {
			w.Header()["Access-Control-Allow-Origin"] = o
		}
		fmt.Fprint(w, r.Header["Origin"])
	}
}

// The handler sees the normalised value of a header that is in the key, so that no client can put
// another value into the page of others. A response that is not stored is made from its client's
// own value.
func TestNormalizedHeader(t *testing.T) {
	lower := httpcache.VaryRule{Header: "X-Lang", Normalize: func(v string) string {
		if v == "" {
			return "en"
		}
		return v[:2]
	}}
	inLang := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Vary", "X-Lang")
		fmt.Fprint(w, r.Header["X-Lang"])
	}
	for name, c := range map[string]struct {
		h       http.HandlerFunc
		rule    httpcache.VaryRule
		a, b    []string // the header of the first client, and of the second
		of, and string   // what they get
		hit     bool
	}{
		"unknown value":  {forOrigin("max-age=60"), allowedOrigin, []string{"Origin", "https://evil"}, nil, "[]", "[]", true},
		"known value":    {forOrigin("max-age=60"), allowedOrigin, []string{"Origin", "https://friend"}, nil, "[https://friend]", "[]", false},
		"two lines":      {forOrigin("max-age=60"), allowedOrigin, []string{"Origin", "https://friend", "Origin", "https://evil"}, nil, "[]", "[]", true},
		"not stored":     {forOrigin("private"), allowedOrigin, []string{"Origin", "https://evil"}, nil, "[https://evil]", "[]", false},
		"another value":  {inLang, lower, []string{"X-Lang", "de-evil"}, []string{"X-Lang", "de"}, "[de]", "[de]", true},
		"value for none": {inLang, lower, nil, []string{"X-Lang", "en-GB"}, "[en]", "[en]", true},
		"lines":          {inLang, httpcache.VaryRule{Header: "X-Lang"}, []string{"X-Lang", "de", "X-Lang", "en"}, []string{"X-Lang", "de, en"}, "[de, en]", "[de, en]", true},
		"empty":          {inLang, httpcache.VaryRule{Header: "X-Lang"}, []string{"X-Lang", ""}, nil, "[]", "[]", true},
		"another path":   {inLang, httpcache.VaryRule{Header: "X-Lang", Normalize: lower.Normalize, On: func(string) bool { return false }}, []string{"X-Lang", "de-evil"}, []string{"X-Lang", "de"}, "[de-evil]", "[de]", false},
		"a hidden header": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprint(w, r.Header["X-Forwarded-Host"])
		}, httpcache.VaryRule{Header: "X-Forwarded-Host"}, []string{"X-Forwarded-Host", "evil"}, nil, "[]", "[]", false},
	} {
		for _, life := range []httpcache.Lifetime{httpcache.FromResponse, httpcache.UntilInvalidated} {
			if life == httpcache.UntilInvalidated && name == "another path" {
				continue // no variants are learned
			}
			s := proxied(t, c.h, httpcache.Config{Vary: []httpcache.VaryRule{c.rule, {Header: "X-Other"}}, Lifetime: life})
			a, b := s.get(t, "/", c.a...), s.get(t, "/", c.b...)
			if a.body != c.of || b.body != c.and || b.hit() != c.hit {
				t.Errorf("%s, %d: %v, then %v", name, life, a, b)
			}
			if b.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %d: the second client got the first one's origin: %v", name, life, b)
			}
		}
	}
}
