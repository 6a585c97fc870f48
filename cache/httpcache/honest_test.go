package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// Behind a server that ends TLS the handler learns the scheme and the host of the key, whatever
// else the client says about them.
func TestForwardedSchemeIsTheKeys(t *testing.T) {
	behindTLS := func(r *http.Request) bool { return r.Header.Get("X-Forwarded-Proto") == "https" }
	for name, c := range map[string]struct {
		secure func(*http.Request) bool
		header []string
		want   string
	}{
		"https":           {behindTLS, []string{"X-Forwarded-Proto", "https"}, "[https] []"},
		"http":            {behindTLS, []string{"X-Forwarded-Proto", "http"}, "[http] []"},
		"not trusted":     {nil, []string{"X-Forwarded-Proto", "https"}, "[http] []"},
		"host":            {nil, []string{"X-Forwarded-Host", "evil.example"}, "[] [example.com]"},
		"nothing of it":   {nil, nil, "[] []"},
		"two lines":       {behindTLS, []string{"X-Forwarded-Proto", "https", "X-Forwarded-Proto", "evil"}, "[https] []"},
		"an odd spelling": {nil, []string{"X-Forwarded-Proto", "HTTPS"}, "[http] []"},
	} {
		t.Run(name, func(t *testing.T) {
			s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Cache-Control", "max-age=60")
				fmt.Fprint(w, r.Header["X-Forwarded-Proto"], " ", r.Header["X-Forwarded-Host"])
			}), httpcache.Config{Secure: c.secure})
			if a := s.get(t, "/", c.header...); a.body != c.want {
				t.Errorf("the handler saw %q, want %q", a.body, c.want)
			}
		})
	}
}

// An origin that redirects http to https ends the redirect behind a server that ends TLS.
func TestForcedTLS(t *testing.T) {
	s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		if r.Header.Get("X-Forwarded-Proto") != "https" {
			http.Redirect(w, r, "https://"+r.Host+r.URL.Path, http.StatusMovedPermanently)
			return
		}
		fmt.Fprint(w, "page")
	}), httpcache.Config{Secure: func(r *http.Request) bool { return r.Header.Get("X-Forwarded-Proto") == "https" }})
	for range 2 {
		if a := s.get(t, "/", "X-Forwarded-Proto", "https"); a.status != http.StatusOK {
			t.Error(a)
		}
		if a := s.get(t, "/", "X-Forwarded-Proto", "http"); a.status != http.StatusMovedPermanently {
			t.Error(a)
		}
	}
}

// With Encodings a response that goes on as it comes varies on Accept-Encoding, as the stored one.
func TestFlushedMissVaries(t *testing.T) {
	for name, c := range map[string]struct {
		kind, cc string
		size     int
		want     bool
	}{
		"stored":      {"text/html", "max-age=60", 2000, true},
		"sniffed":     {"", "max-age=60", 2000, true},
		"not stored":  {"text/html", "private", 2000, true},
		"too long":    {"text/html", "max-age=60", 9000, true},
		"a video":     {"video/mp4", "max-age=60", 2000, false},
		"transformed": {"text/html", "max-age=60, no-transform", 2000, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", c.cc)
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				fmt.Fprint(w, strings.Repeat("text ", c.size/5))
				_ = http.NewResponseController(w).Flush()
			}), httpcache.Config{Encodings: []httpcache.Encoding{httpcache.Gzip(0)}, MaxBody: 5000})
			for range 2 {
				if a := s.get(t, "/", "Accept-Encoding", "gzip"); (a.header.Get("Vary") == "Accept-Encoding") != c.want && !strings.Contains(a.how(), "bypass") {
					t.Error(a)
				}
			}
		})
	}
}

// The headers by which a client could choose another method or client are hidden.
func TestHiddenSiblings(t *testing.T) {
	for _, name := range []string{
		"X-HTTP-Method", "X-HTTP-Method-Override", "X-Method-Override", "X-Original-Host", "X-Original-URI", "X-Rewrite-URL", "X-Host", "X-Real-IP",
	} {
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprint(w, r.Header.Get(name))
		}), httpcache.Config{})
		if a := s.get(t, "/", name, "evil"); a.body != "" {
			t.Errorf("%s: %v", name, a)
		}
	}
}
