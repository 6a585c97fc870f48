package httpcache_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A Transport remembers the keys of requests. Requests that differ in anything that separates them share
// nothing all the same, in any order, and also if the caller changes the URL of a request.
func TestTransportRemembersKeys(t *testing.T) {
	long := strings.Repeat("x", 600)
	for name, cfg := range map[string]httpcache.TransportConfig{
		"private": {Credentials: []string{"X-Key"}},
		"partition": {Partition: func(r *http.Request) string {
			return r.Header.Get("Cookie") + "|" + r.Header.Get("X-Key") + r.URL.User.String()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := transport(t, numbered("Cache-Control", minute), cfg)
			changed := &url.URL{Scheme: "http", Host: "example.com"}
			answers := map[string]string{}
			for range 3 {
				for i, target := range []string{
					"http://example.com/a", "http://example.com/a?b", "http://example.com/a?c", "http://example.com/a?", "https://example.com/a",
					"http://example.com:8080/a", "http://user@example.com/a", "http://other@example.com/a", "http://example.com/a?" + long,
				} {
					for _, header := range [][]string{nil, {"Cookie", "a"}, {"Cookie", "b"}, {"X-Key", "a"}, {"Cookie", long}, {"Host", "example.org"}} {
						r := outgoing(t, http.MethodGet, target, header...)
						if i == 0 && header == nil {
							*changed = *r.URL
							r.URL = changed
						}
						id := fmt.Sprint(target, header)
						a := c.do(t, r)
						if want, ok := answers[id]; ok && (a.body != want || !a.hit()) {
							t.Errorf("%.60s: %v, want %s", id, a, want)
						}
						answers[id] = a.body
						changed.Path = "/changed"
					}
				}
			}
			bodies := map[string]string{}
			for id, body := range answers {
				if other, ok := bodies[body]; ok {
					t.Errorf("%.60s and %.60s share %s", id, other, body)
				}
				bodies[body] = id
			}
		})
	}
}
