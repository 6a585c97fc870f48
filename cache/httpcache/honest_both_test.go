package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// behindTLS is a server that ends TLS, and tells the handler behind it.
type behindTLS struct{ http.Handler }

func (s behindTLS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	r.TLS = nil
	r.Header.Set("X-Forwarded-Proto", scheme)
	s.Handler.ServeHTTP(w, r)
}

// terminated is a side behind such a server.
type terminated struct {
	fronted
	by handled
}

func (s terminated) RoundTrip(r *http.Request) (*http.Response, error) { return s.by.RoundTrip(r) }

func forwardedTLS(r *http.Request) bool { return r.Header.Get("X-Forwarded-Proto") == "https" }

// An origin that redirects http to https ends the redirect behind a server that ends TLS. The cache is
// behind that server, or in front of it.
func TestForcedTLS(t *testing.T) {
	behind := side{"handler", func(t *testing.T, origin http.Handler, cfg httpcache.Config) cached {
		c := handlerSide.open(t, origin, cfg).(fronted)
		return terminated{c, handled{behindTLS{c.server}}}
	}}
	before := side{"client", func(t *testing.T, origin http.Handler, cfg httpcache.Config) cached {
		return sharedSide.open(t, behindTLS{origin}, cfg)
	}}
	origin := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			if !forwardedTLS(r) {
				http.Redirect(w, r, "https://"+r.Host+r.URL.Path, http.StatusMovedPermanently)
				return
			}
			fmt.Fprint(w, "page")
		})
	}
	on(t, []side{behind, before}, httpcache.Config{Secure: forwardedTLS}, origin, func(t *testing.T, do send) {
		for i := range 2 {
			a, b := do(http.MethodGet, "https://example.com/"), do(http.MethodGet, "http://example.com/")
			if a.status != http.StatusOK || b.status != http.StatusMovedPermanently || a.hit() != (i == 1) || b.hit() != (i == 1) {
				t.Errorf("https: %v; http: %v", a, b)
			}
		}
	})
}

// What clients say of the original request does not reach the handler of others: it learns the scheme and the
// host of the key. The caller of a Transport is the program itself, so its headers go on as they are, and
// the origin says in Vary which of them matter.
func TestForwardedHeaders(t *testing.T) {
	type pair = []string
	for name, c := range map[string]struct {
		secure func(*http.Request) bool
		header pair
		want   string // what the handler of a Cache sees
	}{
		"https":           {forwardedTLS, pair{"X-Forwarded-Proto", "https"}, "X-Forwarded-Proto=https"},
		"http":            {forwardedTLS, pair{"X-Forwarded-Proto", "http"}, "X-Forwarded-Proto=http"},
		"not trusted":     {nil, pair{"X-Forwarded-Proto", "https"}, "X-Forwarded-Proto=http"},
		"an odd spelling": {nil, pair{"X-Forwarded-Proto", "HTTPS"}, "X-Forwarded-Proto=http"},
		"two lines":       {forwardedTLS, pair{"X-Forwarded-Proto", "https", "X-Forwarded-Proto", "evil"}, "X-Forwarded-Proto=https"},
		"host":            {nil, pair{"X-Forwarded-Host", "evil.example"}, "X-Forwarded-Host=example.com"},
		"nothing":         {nil, nil, ""},
		"method":          {header: pair{"X-HTTP-Method", "DELETE"}},
		"method, longer":  {header: pair{"X-HTTP-Method-Override", "DELETE"}},
		"method, shorter": {header: pair{"X-Method-Override", "DELETE"}},
		"original host":   {header: pair{"X-Original-Host", "evil"}},
		"original URI":    {header: pair{"X-Original-URI", "/evil"}},
		"rewritten":       {header: pair{"X-Rewrite-URL", "/evil"}},
		"another host":    {header: pair{"X-Host", "evil"}},
		"address":         {header: pair{"X-Real-IP", "192.0.2.1"}},
		"forwarded":       {header: pair{"Forwarded", "host=evil"}},
		"prefix":          {header: pair{"X-Forwarded-Prefix", "/evil"}},
	} {
		t.Run(name, func(t *testing.T) {
			origin := func() http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Cache-Control", "max-age=60")
					for i := 0; i < len(c.header); i += 2 {
						name := http.CanonicalHeaderKey(c.header[i])
						w.Header().Set("Vary", name)
						if lines := r.Header[name]; i == 0 && len(lines) > 0 {
							fmt.Fprint(w, name, "=", strings.Join(lines, ","))
						}
					}
				})
			}
			watched(t, nil, httpcache.Config{Secure: c.secure}, origin, func(t *testing.T, do send, x cached) {
				want := c.want
				if _, handler := x.(fronted); !handler && len(c.header) > 0 {
					want = http.CanonicalHeaderKey(c.header[0]) + "=" + strings.Join(values(c.header), ",")
				}
				for i := range 2 {
					if a := do(http.MethodGet, "/", c.header...); a.body != want || a.hit() != (i == 1) {
						t.Errorf("the origin saw %q, want %q; %v", a.body, want, a)
					}
				}
			})
		})
	}
}

// values returns every second string.
func values(pairs []string) (v []string) {
	for i := 1; i < len(pairs); i += 2 {
		v = append(v, pairs[i])
	}
	return v
}

// A miss that goes on as it comes has the header of the hits after it. With Encodings both vary on
// Accept-Encoding, unless the response has no codings. A Transport has none to offer, and adds nothing.
func TestMissHasTheHeaderOfHits(t *testing.T) {
	header := func(pairs ...string) []string { return append([]string{"Cache-Control", "max-age=60"}, pairs...) }
	html := header("Content-Type", "text/html")
	for name, c := range map[string]struct {
		header []string
		size   int
		vary   string // behind a Cache with Encodings
		kept   bool
	}{
		"stored":        {html, 2000, "Accept-Encoding", true},
		"sniffed":       {header(), 2000, "Accept-Encoding", true},
		"varies":        {append(html, "Vary", "X-A"), 2000, "X-A, Accept-Encoding", true},
		"varies on it":  {append(html, "Vary", "accept-encoding"), 2000, "accept-encoding", true},
		"not stored":    {[]string{"Cache-Control", "private", "Content-Type", "text/html"}, 2000, "Accept-Encoding", false},
		"too long":      {html, 9000, "Accept-Encoding", false},
		"a video":       {header("Content-Type", "video/mp4"), 2000, "", true},
		"transformed":   {[]string{"Cache-Control", "max-age=60, no-transform", "Content-Type", "text/html"}, 2000, "", true},
		"encoded":       {append(html, "Content-Encoding", "gzip"), 2000, "", true},
		"encoded, Vary": {append(html, "Content-Encoding", "gzip", "Vary", "Accept-Encoding"), 2000, "Accept-Encoding", true},
	} {
		for _, flushed := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", flushed), func(t *testing.T) {
				next := func() http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						for i := 0; i < len(c.header); i += 2 {
							w.Header().Add(c.header[i], c.header[i+1])
						}
						fmt.Fprint(w, strings.Repeat("text ", c.size/5))
						if flushed {
							_ = http.NewResponseController(w).Flush()
						}
					})
				}
				cfg := httpcache.Config{Encodings: []httpcache.Encoding{httpcache.Gzip(0)}, MaxBody: 5000}
				watched(t, nil, cfg, next, func(t *testing.T, do send, x cached) {
					vary := strings.Join(headerOf(c.header...)["Vary"], ", ")
					if _, handler := x.(fronted); handler {
						vary = c.vary
					}
					miss := do(http.MethodGet, "/", "Accept-Encoding", "gzip")
					if got := strings.Join(miss.header["Vary"], ", "); got != vary {
						t.Errorf("it varies on %q, want %q", got, vary)
					}
					hit := do(http.MethodGet, "/", "Accept-Encoding", "gzip")
					if hit.hit() != c.kept {
						t.Errorf("then %v", hit.header)
					}
					if diff := cmp.Diff(lasting(miss), lasting(hit)); c.kept && diff != "" {
						t.Error(diff)
					}
				})
			})
		}
	}
}

// lasting returns what does not depend on when and how a response was sent.
func lasting(a answer) http.Header {
	h := a.header.Clone()
	for _, name := range []string{"Cache-Status", "Age", "Date", "Content-Length", "Content-Type", "Content-Encoding"} {
		h.Del(name)
	}
	return h
}
