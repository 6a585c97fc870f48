package httpcache_test

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// allowedOrigin is a rule that knows one value of Origin.
var allowedOrigin = httpcache.VaryRule{Header: "Origin", Normalize: func(v string) string {
	if v == "https://friend" {
		return v
	}
	return ""
}}

// forOrigin answers with the header that every handler of cross-origin requests writes.
func forOrigin(cc string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", cc)
		w.Header().Set("Vary", "Origin")
		if o := r.Header["Origin"]; len(o) > 0 {
			w.Header()["Access-Control-Allow-Origin"] = o
		}
		fmt.Fprint(w, r.Header["Origin"])
	}
}

// The handler sees the normalised value of a header that is in the key, so that no client can put
// another value into the page of others. Of a hidden header it sees what is in the key.
func TestNormalizedHeader(t *testing.T) {
	lower := httpcache.VaryRule{Header: "X-Lang", Normalize: func(v string) string {
		if v == "" {
			return "en"
		}
		return v[:2]
	}}
	inLang := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Vary", "X-Lang")
		fmt.Fprint(w, r.Header["X-Lang"])
	}
	for name, c := range map[string]struct {
		h       http.HandlerFunc
		rule    httpcache.VaryRule
		a, b    []string // the header of the first client, and of the second
		of, and string   // what they get
		hit     bool
	}{
		"unknown value":  {forOrigin("max-age=60"), allowedOrigin, []string{"Origin", "https://evil"}, nil, "[]", "[]", true},
		"known value":    {forOrigin("max-age=60"), allowedOrigin, []string{"Origin", "https://friend"}, nil, "[https://friend]", "[]", false},
		"two lines":      {forOrigin("max-age=60"), allowedOrigin, []string{"Origin", "https://friend", "Origin", "https://evil"}, nil, "[]", "[]", true},
		"not stored":     {forOrigin("private"), allowedOrigin, []string{"Origin", "https://evil"}, nil, "[]", "[]", false},
		"another value":  {inLang, lower, []string{"X-Lang", "de-evil"}, []string{"X-Lang", "de"}, "[de]", "[de]", true},
		"value for none": {inLang, lower, nil, []string{"X-Lang", "en-GB"}, "[en]", "[en]", true},
		"lines":          {inLang, httpcache.VaryRule{Header: "X-Lang"}, []string{"X-Lang", "de", "X-Lang", "en"}, []string{"X-Lang", "de, en"}, "[de, en]", "[de, en]", true},
		"empty":          {inLang, httpcache.VaryRule{Header: "X-Lang"}, []string{"X-Lang", ""}, nil, "[]", "[]", true},
		"another path":   {inLang, httpcache.VaryRule{Header: "X-Lang", Normalize: lower.Normalize, On: func(string) bool { return false }}, []string{"X-Lang", "de-evil"}, []string{"X-Lang", "de"}, "[de-evil]", "[de]", false},
		"a hidden header": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprint(w, r.Header["X-Forwarded-Host"])
		}, httpcache.VaryRule{Header: "X-Forwarded-Host"}, []string{"X-Forwarded-Host", "evil"}, nil, "[example.com]", "[]", false},
	} {
		s := proxied(t, c.h, httpcache.Config{Vary: []httpcache.VaryRule{c.rule, {Header: "X-Other"}}})
		a, b := s.get(t, "/", c.a...), s.get(t, "/", c.b...)
		if a.body != c.of || b.body != c.and || b.hit() != c.hit {
			t.Errorf("%s: %v, then %v", name, a, b)
		}
		if b.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the second client got the first one's origin: %v", name, b)
		}
	}
}

// spelling is a handler that writes how a request is spelled.
func spelling(cc string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", cc)
		fmt.Fprintf(w, "%s %s %s %s %v", r.Host, r.RequestURI, r.URL, r.URL.RawPath, r.URL.ForceQuery)
	}
}

// Requests with one key can be spelled in several ways. The handler sees the spelling of the client
// whose request it answers, with the parameters that are not in the key. It is asked once, also if the
// response is not stored. A response that shows such a parameter is its client's own.
func TestSpellings(t *testing.T) {
	cfg := httpcache.Config{Query: func(string) ([]string, bool) { return []string{"a", "b", "c", "q", "wsdl"}, true }}
	for name, c := range map[string]struct {
		a, b  []string            // target, then header
		outer func(*http.Request) // changes the request
		want  string
		other string // what the other client gets, if it is not the same
	}{
		"host":               {[]string{"/x", "Host", "EXAMPLE.com"}, []string{"/x", "Host", "example.com"}, nil, "EXAMPLE.com /x /x  false", ""},
		"empty query":        {[]string{"/x?"}, []string{"/x"}, nil, "example.com /x? /x?  true", ""},
		"order":              {[]string{"/x?b=1&a=2"}, []string{"/x?a=2&b=1"}, nil, "example.com /x?b=1&a=2 /x?b=1&a=2  false", ""},
		"no value":           {[]string{"/x?wsdl"}, []string{"/x?wsdl="}, nil, "example.com /x?wsdl /x?wsdl  false", ""},
		"space":              {[]string{"/x?q=a%20b"}, []string{"/x?q=a+b"}, nil, "example.com /x?q=a%20b /x?q=a%20b  false", ""},
		"escapes":            {[]string{"/x?q=%7e!*'()"}, []string{"/x?q=~!*'()"}, nil, "example.com /x?q=%7e!*'() /x?q=%7e!*'()  false", ""},
		"empty parameters":   {[]string{"/x?&&a=1&"}, []string{"/x?a=1"}, nil, "example.com /x?&&a=1& /x?&&a=1&  false", ""},
		"dropped parameters": {[]string{"/x?utm_source=evil"}, []string{"/x"}, nil, "example.com /x?utm_source=evil /x?utm_source=evil  false", "example.com /x /x  false"},
		"dropped one": {
			[]string{"/x?b&utm%5fsource=evil&a=%20"}, []string{"/x?a=+&b="}, nil,
			"example.com /x?b&utm%5fsource=evil&a=%20 /x?b&utm%5fsource=evil&a=%20  false", "example.com /x?b&a=%20 /x?b&a=%20  false",
		},
		"escaped path":                       {[]string{"/a%7e?c=1"}, []string{"/a~?c=1"}, nil, "example.com /a%7e?c=1 /a%7e?c=1 /a%7e false", ""},
		"a path that is not escaped":         {[]string{"/a|b?c=1"}, []string{"/a%7Cb?c=1"}, nil, "example.com /a%7Cb?c=1 /a%7Cb?c=1  false", ""},
		"a backslash":                        {[]string{"/\\"}, []string{"/%5C"}, nil, "example.com /%5C /%5C  false", ""},
		"markup":                             {[]string{`/"><b>`}, []string{"/%22%3E%3Cb%3E"}, nil, "example.com /%22%3E%3Cb%3E /%22%3E%3Cb%3E  false", ""},
		"a slash beside what no path has":    {[]string{"/|%2Fb"}, []string{"/%7C/b"}, nil, "example.com /%7C/b /%7C/b  false", ""},
		"a path cut off by an outer handler": {[]string{"/|/x"}, []string{"/%7C/x"}, func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/x", "" }, "example.com /%7C/x /x  false", ""},
		"a whole URL":                        {[]string{"http://example.com/x?c=1"}, []string{"/x?c=1"}, nil, "example.com /x?c=1 /x?c=1  false", ""},
		"query that was cut off": {
			[]string{"/x?evil=1"}, []string{"/x"}, func(r *http.Request) { r.URL.RawQuery = "" }, "example.com /x /x  false", "",
		},
		"no request line": {
			[]string{"/x?b=1"}, []string{"/x?b=1"}, func(r *http.Request) { r.RequestURI = "" }, "example.com /x?b=1 /x?b=1  false", "",
		},
	} {
		of := func(client []string) *http.Request {
			r := request(t, http.MethodGet, client[0], client[1:]...)
			if c.outer != nil {
				c.outer(r)
			}
			return r
		}
		s := proxied(t, spelling("max-age=60"), cfg)
		a, b := do(s, of(c.a)), do(s, of(c.b))
		if a.body != c.want || b.body != cmp.Or(c.other, c.want) || !b.hit() {
			t.Errorf("%s: %v, then %v, want %q", name, a, b, c.want)
		}
		asked := 0
		s = proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			spelling("private")(w, r)
		}), cfg)
		if a := do(s, of(c.a)); a.body != c.want || asked != 1 {
			t.Errorf("%s: not stored: %v, asked %d times", name, a, asked)
		}
	}
}

// With AllowAuthorized the handler sees no client certificate when it renders for everybody. It
// sees the rest of the connection. A response that is not stored is made for its client.
func TestCertificateIsHidden(t *testing.T) {
	show := func(cc string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", cc)
			for _, c := range r.TLS.PeerCertificates {
				fmt.Fprint(w, "certificate of ", c.Subject.CommonName, " ")
			}
			fmt.Fprintf(w, "%d %s", len(r.TLS.VerifiedChains), r.TLS.ServerName)
		}
	}
	from := func(name string) *http.Request {
		r := request(t, http.MethodGet, "/")
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
		r.TLS = &tls.ConnectionState{ServerName: "example.com", PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}
		return r
	}
	s := proxied(t, show("max-age=60"), httpcache.Config{AllowAuthorized: anybody})
	alice := from("alice")
	for i, r := range []*http.Request{alice, from("bob")} {
		if a := do(s, r); a.body != "0 example.com" || a.hit() != (i > 0) {
			t.Errorf("client %d: %v", i, a)
		}
	}
	if len(alice.TLS.PeerCertificates) != 1 || len(alice.TLS.VerifiedChains) != 1 {
		t.Errorf("the client's own request was changed")
	}
	s = proxied(t, show("private"), httpcache.Config{AllowAuthorized: anybody})
	for _, name := range []string{"alice", "bob"} {
		if a := do(s, from(name)); a.body != "certificate of "+name+" 1 example.com" {
			t.Errorf("%s: %v", name, a)
		}
	}
}

// AllowAuthorized is asked once. The context of a client may be over before its refresh.
func TestAllowAuthorizedIsAskedOnce(t *testing.T) {
	asked := 0
	s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		fmt.Fprint(w, r.Header["Cookie"])
	}), httpcache.Config{AllowAuthorized: func(*http.Request) bool { asked++; return asked == 1 }})
	if a := s.get(t, "/", "Cookie", "session=alice"); a.body != "[]" || asked != 1 {
		t.Errorf("%v, AllowAuthorized was asked %d times", a, asked)
	}
}

// A client whose parameter is not in the key does not change the page of others, also if somebody
// parsed the form before the cache.
func TestParsedForm(t *testing.T) {
	s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		fmt.Fprint(w, r.FormValue("from"), r.FormValue("page"))
	}), httpcache.Config{Query: func(string) ([]string, bool) { return []string{"page"}, true }})
	r := request(t, http.MethodGet, "/?from=evil&page=2")
	if err := r.ParseForm(); err != nil {
		t.Fatal(err)
	}
	if a := do(s, r); a.body != "evil2" || a.how() != "fwd=uri-miss;detail=query" {
		t.Error(a)
	}
	if a := s.get(t, "/?page=2"); a.body != "2" || !a.hit() {
		t.Error(a)
	}
	if got := r.FormValue("from"); got != "evil" {
		t.Errorf("the client's own request was changed: %q", got)
	}
}

// A client whose request has nothing to hide and nothing to respell gets the first rendering, even
// if it is not stored.
func TestOneRenderingForOrdinaryRequests(t *testing.T) {
	for _, target := range []string{"/", "/a/b/", "/a?b=1&c=%C3%A9", "/a%2Fb", "/%C3%A9?b=1", "/a[1]=(2)'!", "/a,b;c:d@e+f$g&h~i"} {
		h := &counted{header: http.Header{"Cache-Control": {"private"}}}
		s := proxied(t, h, httpcache.Config{Vary: []httpcache.VaryRule{{Header: "Accept"}, {Header: "Origin"}}})
		a := s.get(t, target, "Host", "example.com:8080", "Accept", "text/html, */*", "User-Agent", "u")
		if a.body != "rendering 1" || h.Load() != 1 {
			t.Errorf("%s: %v, %d renderings", target, a, h.Load())
		}
		mux := http.NewServeMux()
		mux.Handle("/outer/", http.StripPrefix("/outer", s))
		if a := do(mux, request(t, http.MethodGet, "/outer"+target)); a.body != "rendering 2" || h.Load() != 2 {
			t.Errorf("%s below a prefix: %v, %d renderings", target, a, h.Load())
		}
	}
	h := &counted{header: http.Header{"Cache-Control": {"private"}}}
	r := request(t, http.MethodGet, "/a?b=1")
	r.RequestURI = "" // it is from no server
	if a := do(proxied(t, h, httpcache.Config{}), r); a.body != "rendering 1" || h.Load() != 1 {
		t.Errorf("without a request line: %v, %d renderings", a, h.Load())
	}
}
