package httpcache_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// personal is a handler whose response contains data of its client. mark sets the header of the
// response.
func personal(mark func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		mark(w, r)
		_, _ = w.Write([]byte("hello " + who(r)))
	}
}

func who(r *http.Request) string {
	if n := r.Header.Get("X-Who"); n != "" {
		return n
	}
	return "nobody"
}

func set(name string, values ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.Header()[name] = values }
}

func status(code int, mark ...func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, m := range mark {
			m(w, r)
		}
		w.WriteHeader(code)
	}
}

// A response that is marked as private in any way reaches no other client, also none that waited for it. Its
// own client gets what the handler made of its own request. (W-E7)
func TestNeverShared(t *testing.T) {
	cases := map[string]func(http.ResponseWriter, *http.Request){
		"set-cookie":                   set("Set-Cookie", "session=1"),
		"set-cookie, spelled low":      set("set-cookie", "session=1"),
		"private":                      set("Cache-Control", "private"),
		"private among others":         set("Cache-Control", "max-age=60, Private"),
		"private in a second line":     set("Cache-Control", "public, max-age=60", "private"),
		"private in another spelling":  set("cache-control", "private"),
		"private of a field":           set("Cache-Control", `public, private="x-who, set-cookie"`),
		"no-store":                     set("Cache-Control", "no-store"),
		"no-store after a comma":       set("Cache-Control", `foo="a, b", ,no-store`),
		"no-cache":                     set("Cache-Control", "no-cache"),
		"no-cache of a field":          set("Cache-Control", `no-cache="set-cookie"`),
		"pragma":                       set("Pragma", "no-cache"),
		"bad cache-control":            set("Cache-Control", `max-age="60, private`),
		"vary on what is not declared": set("Vary", "X-Who"),
		"vary, second line":            set("Vary", "Accept", "X-Who"),
		"vary *":                       set("Vary", "*"),
		"event stream":                 set("Content-Type", "text/event-stream"),
		"event stream with a charset":  set("Content-Type", "Text/Event-Stream; charset=utf-8"),
		"mixed replace":                set("Content-Type", "multipart/x-mixed-replace; boundary=x"),
		"content-range":                set("Content-Range", "bytes 0-1/2"),
		"206":                          status(http.StatusPartialContent),
		"trailer":                      set("Trailer", "X-Sum"),
		"upgrade":                      set("Connection", "keep-alive, Upgrade"),
		"transfer-encoding":            set("Transfer-Encoding", "identity"),
		"302":                          status(http.StatusFound, set("Location", "/")),
		"307":                          status(http.StatusTemporaryRedirect, set("Location", "/")),
		"401":                          status(http.StatusUnauthorized),
		"500, private":                 status(http.StatusInternalServerError, set("Cache-Control", "private")),
		"403":                          status(http.StatusForbidden),
		"429":                          status(http.StatusTooManyRequests),
		"404 with a cookie":            status(http.StatusNotFound, set("Set-Cookie", "a=b")),
		"103":                          status(http.StatusEarlyHints, set("Link", "</a>; rel=preload")),
		"500, private, flushed": func(w http.ResponseWriter, r *http.Request) {
			status(http.StatusInternalServerError, set("Cache-Control", "private"))(w, r)
			_ = http.NewResponseController(w).Flush()
		},
		"flushed, private": func(w http.ResponseWriter, r *http.Request) {
			set("Cache-Control", "private")(w, r)
			_ = http.NewResponseController(w).Flush()
		},
		"hijack": func(w http.ResponseWriter, _ *http.Request) {
			_, _, _ = http.NewResponseController(w).Hijack()
		},
		"deadline": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		},
		"trailer unannounced": set("Trailer:X-Sum", "1"),
	}
	for name, mark := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				s := serve(t, personal(func(w http.ResponseWriter, r *http.Request) {
					g.pass()
					mark(w, r)
				}), httpcache.Config{})
				check := func(when, who string, a answer) {
					if a.body != "hello "+who || a.hit() {
						t.Errorf("%s: %s got %q (%s)", when, who, a.body, a.how())
					}
				}
				name := func(i int) string { return fmt.Sprint("client ", i) }
				for i, a := range crowd(t, s, 8, func() { close(g.open) }, func(i int) *http.Request { return request(t, http.MethodGet, "/", "X-Who", name(i)) }) {
					check("at once", name(i), a)
				}
				for _, who := range []string{"alice", "bob", "alice", "bob"} { // the key is remembered
					check("in turn", who, s.get(t, "/", "X-Who", who))
				}
				check("in the end", "nobody", s.get(t, "/"))
				if n := s.c.Stats().Stored; n != 0 {
					t.Errorf("%d responses were stored", n)
				}
			})
		})
	}
}

// Vary declares a header for some paths only.
func TestVaryIsDeclaredByPath(t *testing.T) {
	s := serve(t, personal(set("Vary", "x-who")), httpcache.Config{
		Vary: []httpcache.VaryRule{{Header: "X-Who", On: func(path string) bool { return path == "/declared" }}},
	})
	for path, want := range map[string]bool{"/declared": true, "/other": false} {
		for i := range 2 {
			for _, who := range []string{"alice", "bob"} {
				if a := s.get(t, path, "X-Who", who); a.body != "hello "+who || a.hit() != (want && i == 1) {
					t.Errorf("%s, %s: %v", path, who, a)
				}
			}
		}
	}
}

// Requests that must be answered for one client reach the handler unchanged.
func TestNeverAsked(t *testing.T) {
	cases := map[string]struct {
		header []string
		change func(*http.Request)
		how    string
	}{
		"authorization":       {header: []string{"Authorization", "Basic x"}, how: "fwd=bypass;detail=credentials"},
		"proxy-authorization": {header: []string{"Proxy-Authorization", "Basic x"}, how: "fwd=bypass;detail=credentials"},
		"cookie":              {header: []string{"Cookie", "a=b"}, how: "fwd=bypass;detail=credentials"},
		"empty cookie":        {header: []string{"Cookie", ""}, how: "fwd=bypass;detail=credentials"},
		"the program's own":   {header: []string{"X-API-Key", "k"}, how: "fwd=bypass;detail=credentials"},
		"client certificate": {change: func(r *http.Request) {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
		}, how: "fwd=bypass;detail=credentials"},
		"upgrade":                      {header: []string{"Connection", "Upgrade", "Upgrade", "websocket"}, how: "fwd=bypass;detail=upgrade"},
		"event source":                 {header: []string{"Accept", "text/html, text/event-stream;q=0.5"}, how: "fwd=bypass;detail=stream-asked-for"},
		"last event":                   {header: []string{"Last-Event-ID", "7"}, how: "fwd=bypass;detail=stream-asked-for"},
		"body":                         {change: func(r *http.Request) { r.ContentLength = 3 }, how: "fwd=bypass;detail=request-body"},
		"chunked body":                 {change: func(r *http.Request) { r.TransferEncoding = []string{"chunked"} }, how: "fwd=bypass;detail=request-body"},
		"post":                         {change: func(r *http.Request) { r.Method = http.MethodPost }, how: "fwd=method"},
		"delete":                       {change: func(r *http.Request) { r.Method = http.MethodDelete }, how: "fwd=method"},
		"lower-case get":               {change: func(r *http.Request) { r.Method = "get" }, how: "fwd=method"},
		"the program says so":          {change: func(r *http.Request) { r.URL.Path, r.RequestURI = "/admin", "/admin" }, how: "fwd=bypass;detail=program"},
		"no-store":                     {header: []string{"Cache-Control", "No-Store"}, how: "fwd=bypass;detail=request-no-store"},
		"another host":                 {header: []string{"Host", "evil.example"}, how: "fwd=bypass;detail=host"},
		"another host in the target":   {change: func(r *http.Request) { r.URL.Host = "evil.example" }, how: "fwd=bypass;detail=path"},
		"another scheme in the target": {change: func(r *http.Request) { r.URL.Scheme, r.URL.Host = "https", "example.com" }, how: "fwd=bypass;detail=path"},
		"a host in the line":           {change: func(r *http.Request) { r.RequestURI = "http://evil.example/" }, how: "fwd=bypass;detail=path"},
		"a user in the target":         {change: func(r *http.Request) { r.URL.Scheme, r.URL.Host, r.URL.User = "http", "example.com", url.User("u") }, how: "fwd=bypass;detail=path"},
		"a dot":                        {change: at("/a/./b"), how: "fwd=bypass;detail=path"},
		"two dots":                     {change: at("/a/../b"), how: "fwd=bypass;detail=path"},
		"escaped dots":                 {change: at("/a/%2e%2E/b"), how: "fwd=bypass;detail=path"},
		"dots at the end":              {change: at("/a/.."), how: "fwd=bypass;detail=path"},
		"two slashes":                  {change: at("//a"), how: "fwd=bypass;detail=path"},
		"slashes in between":           {change: at("/a//b"), how: "fwd=bypass;detail=path"},
		"dots, slash escaped":          {change: at("/a%2f..%2fb"), how: "fwd=bypass;detail=path"},
		"semicolon":                    {change: at("/list?a=1;b=2"), how: "fwd=bypass;detail=query"},
		"bad escape":                   {change: at("/list?a=%zz"), how: "fwd=bypass;detail=query"},
		"long query":                   {change: at("/?a=" + strings.Repeat("x", 5000)), how: "fwd=bypass;detail=query"},
		"long key":                     {change: at("/" + strings.Repeat("x", 1100)), how: "fwd=bypass;detail=key-too-long"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := serve(t, personal(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Method", r.Method)
			}), httpcache.Config{
				Credentials: []string{"x-api-key"},
				Bypass:      func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/admin") },
				Hosts:       []string{"example.com"},
				Query:       func(path string) ([]string, bool) { return []string{"a", "b"}, path == "/list" },
			})
			for range 2 {
				for _, who := range []string{"alice", "bob"} {
					r := request(t, http.MethodGet, "/", append(c.header, "X-Who", who)...)
					if c.change != nil {
						c.change(r)
					}
					method := r.Method
					if a := do(s, r); a.body != "hello "+who || a.how() != c.how || a.header.Get("X-Method") != method {
						t.Errorf("%s: %v", who, a)
					}
				}
			}
			if st := s.c.Stats(); st.Stored != 0 || len(st.Bypass) != 1 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// at changes the target of a request, as a server would set it.
func at(target string) func(*http.Request) {
	return func(r *http.Request) {
		o, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + target + " HTTP/1.1\r\nHost: example.com\r\n\r\n")))
		if err != nil {
			panic(err)
		}
		r.URL, r.RequestURI = o.URL, o.RequestURI
	}
}

// A client that AllowAuthorized admits shares the pages of all clients, and leaves no trace in
// them.
func TestAllowAuthorized(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header)
	}, httpcache.Config{
		Credentials:     []string{"X-Key"},
		AllowAuthorized: func(r *http.Request) bool { return r.Header.Get("X-Key") == "good" },
	})
	if a := s.get(t, "/", "X-Key", "good", "Authorization", "secret", "Cookie", "secret"); strings.Contains(a.body, "secret") || strings.Contains(a.body, "good") {
		t.Errorf("the handler saw credentials: %v", a)
	}
	if a := s.get(t, "/", "X-Key", "good"); !a.hit() {
		t.Errorf("not shared: %v", a)
	}
	if a := s.get(t, "/", "X-Key", "bad"); a.hit() || !strings.Contains(a.body, "bad") {
		t.Errorf("shared: %v", a)
	}
}
