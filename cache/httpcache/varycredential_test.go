package httpcache_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

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
