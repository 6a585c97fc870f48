package cachez_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/cachez"
)

// every has a request of each kind.
var every = []string{
	"GET ", "HEAD ", "GET ?format=json", "GET ?key=default:users:v1:ada", "GET ?tag=users", "GET ?prefix=default:", "GET ?url=/a", "GET ?under=/",
	"GET ?all=yes", "GET ?nonsense=1", "GET ?%zz", "PUT ", "OPTIONS ",
	"POST do=purge&all=yes", "POST do=expire&all=yes", "POST do=purge&path=/a", "POST do=purge&url=/a", "POST nonsense",
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, errors.New("unread")
}

// If Authorize is nil or returns false, a request shows nothing and does nothing.
func TestAuthorize(t *testing.T) {
	for name, authorize := range map[string]func(*http.Request) bool{"nil": nil, "no": func(*http.Request) bool { return false }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProgram(t, func(c *cachez.Config) { c.Authorize, c.Title = authorize, "Hidden" })
				p.read("ada")
				p.visit("/a")
				for _, request := range every {
					method, rest, _ := strings.Cut(request, " ")
					r := httptest.NewRequestWithContext(t.Context(), method, "/caches", unread{t})
					if method != http.MethodPost {
						r.URL.RawQuery = strings.TrimPrefix(rest, "?")
					}
					w := httptest.NewRecorder()
					p.page.ServeHTTP(w, r)
					body := w.Body.String()
					if w.Code != http.StatusForbidden || strings.Contains(body, "ada") || strings.Contains(body, "Hidden") || strings.Contains(body, "<form") {
						t.Errorf("%s = %d: %s", request, w.Code, body)
					}
					protected(t, request, w)
				}
				if n := p.tiers.Stats().Kinds; n.All+n.Expired+n.Keys+n.Tags > 0 {
					t.Errorf("something was invalidated: %+v", n)
				}
			})
		})
	}
}

// protected checks the header of an answer.
func protected(t *testing.T, request string, w *httptest.ResponseRecorder) {
	t.Helper()
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'; style-src 'sha256-", "X-Content-Type-Options": "nosniff",
	} {
		if got := w.Header().Get(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s: %s, want %s", request, name, got, want)
		}
	}
}

// Authorize sees every request.
func TestAuthorizeSeesRequests(t *testing.T) { synctest.Test(t, testAuthorizeSeesRequests) }

func testAuthorizeSeesRequests(t *testing.T) {
	p := newProgram(t, func(c *cachez.Config) {
		c.Authorize = func(r *http.Request) bool { return r.Header.Get("X-Operator") == "yes" }
	})
	for value, want := range map[string]int{"yes": http.StatusOK, "no": http.StatusForbidden, "": http.StatusForbidden} {
		for _, w := range []*httptest.ResponseRecorder{
			p.call(http.MethodGet, "", "", "X-Operator", value), p.call(http.MethodPost, "", "do=purge&tag=a", "X-Operator", value),
		} {
			if w.Code != want {
				t.Errorf("operator %q = %d, want %d", value, w.Code, want)
			}
		}
	}
}

// A browser on another site cannot send forms here.
func TestCrossOrigin(t *testing.T) { synctest.Test(t, testCrossOrigin) }

func testCrossOrigin(t *testing.T) {
	p := newProgram(t)
	p.read("ada")
	for _, tt := range []struct {
		header []string
		want   int
	}{
		{[]string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{[]string{"Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		{[]string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{[]string{"Origin", "null"}, http.StatusForbidden},
		{[]string{"Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		{[]string{"Origin", "https://" + host}, http.StatusOK},
		{nil, http.StatusOK},
	} {
		if w := p.call(http.MethodPost, "", "do=purge&key=default:users:v1:ada", tt.header...); w.Code != tt.want {
			t.Errorf("%v = %d, want %d", tt.header, w.Code, tt.want)
		} else if gone := len(p.keys()) == 0; gone != (tt.want == http.StatusOK) {
			t.Errorf("%v: purged: %t", tt.header, gone)
		}
		p.read("ada")
	}
}

// Links and forms work at any mount point, and the page's security policy allows its style.
func TestMounts(t *testing.T) { synctest.Test(t, testMounts) }

func testMounts(t *testing.T) {
	p := newProgram(t)
	mux := http.NewServeMux()
	mux.Handle("/exact", p.page)
	mux.Handle("/below/", http.StripPrefix("/below", p.page))
	mux.Handle("/bare/", http.StripPrefix("/bare/", p.page))
	for _, at := range []string{"/exact", "/below/", "/bare/", "/below/deeper"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, at+"?all=yes", http.NoBody)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		all, _ := elements(t, w.Body.String())
		links := 0
		for _, e := range all {
			to, ok := e.attrs["href"]
			if e.name == "form" {
				to, ok = e.attrs["action"]
			}
			if !ok {
				continue
			}
			links++
			if u, err := r.URL.Parse(to); err != nil || u.Path != at {
				t.Errorf("%s leads to %s", at, to)
			}
		}
		if w.Code != http.StatusOK || links < 10 {
			t.Errorf("%s = %d with %d links", at, w.Code, links)
		}
		_, rest, _ := strings.Cut(w.Body.String(), "<style>")
		style, _, _ := strings.Cut(rest, "</style>")
		sum := sha256.Sum256([]byte(style))
		if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(w.Header().Get("Content-Security-Policy"), "style-src 'sha256-"+hash+"'") {
			t.Errorf("the style of hash %s is not allowed by %s", hash, w.Header().Get("Content-Security-Policy"))
		}
	}
}

// Every form gets an answer, and only a purge purges.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{
		"do=purge&tag=a&tenant=b", "do=expire&key=default:users:v1:ada", "do=purge&url=https://a/b?c", "do=purge&path=/%2e%2e", "do=purge&under=/a&all=yes",
		"do=purge&all=yes", "do=purge&prefix=default:", "do&do=1;&%zz", "do=purge&url=//x/", "do=purge&tag=%ff", "do=expire&path=/a", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, form string) {
		synctest.Test(t, func(t *testing.T) {
			p := newProgram(t, func(c *cachez.Config) { c.Logger = slog.New(slog.DiscardHandler) })
			w := p.post(form)
			a := read(t, w)
			n := p.tiers.Stats().Kinds
			did := n.Keys + n.Prefixes + n.Tags + n.All + n.Expired
			v, err := url.ParseQuery(form)
			switch {
			case w.Code == http.StatusOK && (a.Done == nil || did == 0 || err != nil || len(v["do"]) != 1 || v.Get("do") != a.Done.Do || v.Get(a.Done.By) != a.Done.Value):
				t.Errorf("%q = 200 %s, and %d scopes", form, w.Body, did)
			case w.Code != http.StatusOK && (w.Code < 400 || w.Code >= 500 || a.Error == "" || did > 0):
				t.Errorf("%q = %d %s, and %d scopes", form, w.Code, w.Body, did)
			}
			g := p.get("?" + form)
			if g.Code != http.StatusOK && (g.Code < 400 || g.Code >= 500) {
				t.Errorf("lookup of %q = %d", form, g.Code)
			}
		})
	})
}
