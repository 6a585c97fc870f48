package httpcache_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// handled sends requests to a handler.
type handled struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, asServed(r))
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// asServed returns a client's request as a server's handler gets it.
func asServed(r *http.Request) *http.Request {
	s := r.Clone(r.Context())
	s.RequestURI, s.Host = r.URL.RequestURI(), cmp.Or(r.Host, r.URL.Host)
	s.URL.Scheme, s.URL.Host = "", ""
	return s
}

// send sends a request to one side: to the site example.com, unless the header has a Host.
type send func(method, target string, header ...string) answer

// sides is both for tests that request "/" only.
func sides(t *testing.T, cfg httpcache.Config, origin func() http.Handler, f func(t *testing.T, get func(header ...string) answer)) {
	both(t, cfg, origin, func(t *testing.T, do send) {
		f(t, func(header ...string) answer { return do(http.MethodGet, "/", header...) })
	})
}

// both runs a test with a Cache in front of a handler, and with a shared Transport in front of the
// same: one rule, one answer. Each side gets its own origin.
func both(t *testing.T, cfg httpcache.Config, origin func() http.Handler, f func(t *testing.T, do send)) {
	bubble := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	bubble("handler", func(t *testing.T) {
		s := proxied(t, origin(), cfg)
		f(t, func(method, target string, header ...string) answer {
			return do(s, request(t, method, target, header...))
		})
	})
	bubble("transport", func(t *testing.T) {
		c := transport(t, nil, httpcache.TransportConfig{
			Tiers: cfg.Tiers, Base: handled{origin()}, Shared: true, Fallback: cfg.Fallback, Policy: cfg.Policy,
			MaxBody: cmp.Or(cfg.MaxBody, httpcache.DefaultMaxBody),
		})
		f(t, func(method, target string, header ...string) answer {
			resp, err := c.RoundTrip(outgoing(t, method, "http://example.com"+target, header...))
			if err != nil {
				t.Error(err)
				return answer{}
			}
			return readAll(t, resp)
		})
	})
}
