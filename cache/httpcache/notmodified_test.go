package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A 304 may say how long the body is that it does not have (RFC 9110 §8.6). It renews the page
// all the same. A client that asked without a condition gets the page, not the 304.
func TestNotModifiedWithLength(t *testing.T) {
	for name, length := range map[string]string{"as the page": "6", "another": "1234", "long": fmt.Sprint(httpcache.DefaultMaxBody + 1)} {
		s := script{
			name: name,
			origin: [][]string{
				{"Etag", `"a"`, "Cache-Control", "max-age=10"},
				{":status", "304", "Etag", `"a"`, "Cache-Control", "max-age=10", "Content-Length", length},
			},
			visits: []visit{
				{asked: 1, body: "body 1"},
				{after: "11s", asked: 2, body: "body 1", how: "fwd=stale;fwd-status=304;stored", with: []string{"Content-Length", "6"}},
				{asked: 2, body: "body 1", how: "hit;ttl=10"},
				{header: []string{"If-None-Match", `"a"`}, status: 304, asked: 2, how: "hit"},
			},
		}
		s.run(t)
	}
}

// A 304 that cannot be recorded goes to no client that asked without a condition.
func TestNotModifiedThatIsNotRecorded(t *testing.T) {
	for name, add := range map[string]func(http.ResponseWriter){
		"header too long": func(w http.ResponseWriter) { w.Header().Set("X-Long", strings.Repeat("x", 1<<20)) },
		"trailer":         func(w http.ResponseWriter) { w.Header().Set(http.TrailerPrefix+"X-T", "1") },
	} {
		t.Run(name, func(t *testing.T) {
			origin := func() http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Etag", `"a"`)
					w.Header().Set("Cache-Control", "max-age=10")
					if r.Header.Get("If-None-Match") == "" {
						fmt.Fprint(w, "page")
						return
					}
					add(w)
					w.WriteHeader(http.StatusNotModified)
				})
			}
			sides(t, httpcache.Config{}, origin, func(t *testing.T, get func(...string) answer) {
				for range 2 {
					if a := get(); a.status != http.StatusOK || a.body != "page" {
						t.Error(a)
					}
					sleep(t, "11s")
				}
			})
		})
	}
}
