package httpcache_test

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// Callers with different credentials share nothing, and neither do requests that differ in anything else that
// separates them, in any order. A Transport remembers the keys of requests, but not if the caller changes the
// URL of a request.
func TestTransportRemembersKeys(t *testing.T) {
	long := strings.Repeat("x", 600)
	for name, cfg := range map[string]httpcache.TransportConfig{
		"private": {Credentials: []string{"X-Key"}},
		"partition": {Partition: func(r *http.Request) string {
			return strings.Join(r.Header.Values("Authorization"), ",") + strings.Join(r.Header[strings.ToLower("Authorization")], "") + "|" + r.Header.Get("Cookie") + "|" + r.Header.Get("X-Key") + r.URL.User.String()
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
					for _, header := range [][]string{
						nil, {"Cookie", "a"}, {"Cookie", "b"}, {"X-Key", "a"}, {"Cookie", long}, {"Host", "example.org"},
						{"Authorization", "a"}, {"Authorization", "b"}, {"Authorization", "a", "Authorization", "b"}, {"Authorization", "ab"}, {"Cookie", "a", "Authorization", "b"}, {"authorization", "c"},
					} {
						r := outgoing(t, http.MethodGet, target, header...)
						if i == 0 && header == nil {
							*changed = *r.URL
							r.URL = changed
						}
						if len(header) > 0 && header[0] == "authorization" { // a name that is not canonical
							r.Header = http.Header{header[0]: header[1:]}
						}
						id := fmt.Sprintf("%s %q", target, header)
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

// Partition replaces the partition by credentials: callers of one partition share responses.
func TestTransportPartitionIsShared(t *testing.T) {
	c := transport(t, numbered("Cache-Control", minute), httpcache.TransportConfig{Partition: func(r *http.Request) string { return r.Header.Get("X-Org") }})
	for i, caller := range []struct {
		header []string
		hit    bool
	}{
		{[]string{"X-Org", "1", "Authorization", "a"}, false}, {[]string{"X-Org", "1", "Authorization", "b"}, true}, {[]string{"X-Org", "2", "Authorization", "a"}, false},
	} {
		if a := c.get(t, caller.header...); a.hit() != caller.hit {
			t.Errorf("caller %d: %v", i, a)
		}
	}
}

// NewTransport names every fault of a configuration.
func TestTransportConfigFaults(t *testing.T) {
	_, err := httpcache.NewTransport(httpcache.TransportConfig{
		MaxBody: -1, Keep: -1, Credentials: []string{"a b"}, Fallback: httpcache.Fallback{TTL: -1, Stale: -1, StaleIfError: -1, Heuristic: math.NaN(), MaxHeuristic: -1},
	})
	for _, name := range []string{"Tiers", "MaxBody", "Keep", "Credentials", "Fallback.TTL", "Fallback.Stale", "Fallback.StaleIfError", "Fallback.Heuristic", "Fallback.MaxHeuristic"} {
		if err == nil || !strings.Contains(err.Error(), "field "+name+" ") && !strings.Contains(err.Error(), "field "+name+":") {
			t.Errorf("%s is not in %v", name, err)
		}
	}
}
