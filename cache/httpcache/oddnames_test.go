package httpcache_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

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
