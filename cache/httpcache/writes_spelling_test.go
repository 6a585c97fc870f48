package httpcache_test

import (
	"net/http"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A write ends the pages of its path in every spelling that an origin may read as that path (RFC 3986
// §6.2.2.3). A client must not keep a page from being renewed by the way it spells its write.
func TestWritesInOtherSpellings(t *testing.T) {
	next := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			if r.Method == http.MethodPost && r.URL.Query().Has("at") {
				w.Header().Set("Location", r.URL.Query().Get("at"))
				w.WriteHeader(http.StatusCreated)
			}
		})
	}
	for target, ends := range map[string]bool{
		"/a/b": true, "/a/./b": true, "/x/../a/b": true, "//a/b": true, "/a//b": true, "/../a/b": true, "/%2e%2e/a/b": true, "/a/%62": true,
		"/a/b/.": false, "/a/b/": false, "/a": false, "/a/b/c": false, "/": false, "/?at=//example.com//a/b": true, "/?at=x/../../a//b": true,
	} {
		t.Run(target, func(t *testing.T) {
			both(t, httpcache.Config{}, next, func(t *testing.T, do send) {
				do(http.MethodGet, "/a/b")
				do(http.MethodPost, target)
				if a := do(http.MethodGet, "/a/b"); a.hit() == ends {
					t.Error(a)
				}
			})
		})
	}
}
