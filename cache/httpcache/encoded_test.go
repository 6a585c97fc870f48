package httpcache_test

import (
	"fmt"
	"net/http"
	"testing"

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
