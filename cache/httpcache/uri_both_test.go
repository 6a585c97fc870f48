package httpcache_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A stored response answers requests for its own URI (RFC 9111 §4). Two URIs are one if RFC 3986 §6.2.2 says so: they
// differ in the case of the host or of an escape, or one escapes a character that needs no escape. Parameters are
// sorted and dropped only by a field of the Config.
func TestURIs(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"/x?b=1&a=2", "/x?a=2&b=1", false},
		{"/x?wsdl", "/x?wsdl=", false},
		{"/x?q=a+b", "/x?q=a%20b", false},
		{"/x?a=1&&b=2", "/x?a=1&b=2", false},
		{"/x?a=1&", "/x?a=1", false},
		{"/x?&a=1", "/x?a=1", false},
		{"/x?", "/x", false},
		{"/x?utm_source=mail", "/x", false},
		{"/x?a=b%2Fc", "/x?a=b/c", false},
		{"/x?a=%26b", "/x?a=&b", false},
		{"/x?a=1&a=2", "/x?a=2&a=1", false},
		{"/x?a;b", "/x?a&b", false},
		{"/x?a|b", "/x?a%7Cb", false},
		{"/x?a|b=c", "/x?a%7Cb=c", false},
		{"/x?a=^7C", "/x?a=|", false},
		{"/x?a=^7C", "/x?a=%7C", false},
		{"/x?a=^^7C", "/x?a=|", false},
		{"/x?a=%", "/x?a=%25", false},
		{"/x?a=%4%31", "/x?a=%%34%31", false},
		{"/x?a=%4%31", "/x?a=A", false},
		{"/x%2Fy", "/x/y", false},
		{"/x%3Fa", "/x?a", false},
		{"/X", "/x", false},
		{"/x/", "/x", false},
		{"/%7Ex", "/~x", true},
		{"/x%2d%2E%5f", "/x-._", true},
		{"/pag%65", "/page", true},
		{"/caf%c3%a9", "/caf%C3%A9", true},
		{"/x?%61=%7e", "/x?a=~", true},
		{"/x?q=%c3%a9", "/x?q=%C3%A9", true},
		{"http://EXAMPLE.com/x", "http://example.com/x", true},
		{"http://example.com/x#a", "http://example.com/x", true},
	} {
		t.Run(c.a+" "+c.b, func(t *testing.T) {
			var asked int
			origin := func() http.Handler {
				asked = 0
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked++
					w.Header().Set("Cache-Control", "max-age=60")
					fmt.Fprint(w, asked)
				})
			}
			on(t, []side{handlerSide, pagesSide, sharedSide, privateSide}, httpcache.Config{}, origin, func(t *testing.T, do send) {
				do(http.MethodGet, c.a)
				if b := do(http.MethodGet, c.b); b.hit() != c.same || asked != 1 == c.same {
					t.Errorf("after %s, %s gets %v; the origin was asked %d times", c.a, c.b, b, asked)
				}
				for _, again := range []string{c.a, c.b} {
					if a := do(http.MethodGet, again); !a.hit() {
						t.Errorf("%s is not stored: %v", again, a)
					}
				}
			})
		})
	}
}
