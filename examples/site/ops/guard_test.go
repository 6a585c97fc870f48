package ops_test

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/site/ops"
)

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// Nothing is to be had without the key, and a refusal does not say what was wrong.
func TestAuthentication(t *testing.T) {
	h := handler(t, ops.Config{})
	open := handler(t, ops.Config{OpenMetrics: true})
	keyless, err := ops.New(ops.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		h      http.Handler
		header string
		in     bool
	}{
		{"nothing", h, "", false},
		{"bearer", h, "Bearer " + adminKey, true},
		{"bearer in lower case", h, "bearer " + adminKey, true},
		{"basic", h, basic("anybody", adminKey), true},
		{"basic without a user", h, basic("", adminKey), true},
		{"wrong bearer", h, "Bearer nonsense", false},
		{"empty bearer", h, "Bearer ", false},
		{"wrong password", h, basic("anybody", "nonsense"), false},
		{"empty password", h, basic("anybody", ""), false},
		{"the key as the user", h, basic(adminKey, ""), false},
		{"a key of the same length", h, "Bearer " + strings.ToUpper(adminKey), false},
		{"a password of the same length", h, basic("", strings.ToUpper(adminKey)), false},
		{"a part of the key", h, "Bearer " + adminKey[:len(adminKey)-1], false},
		{"more than the key", h, "Bearer " + adminKey + "x", false},
		{"no scheme", h, adminKey, false},
		{"another scheme", h, "Digest " + adminKey, false},
		{"basic that is no base64", h, "Basic " + adminKey, false},
		{"no key configured, none sent", keyless, "", false},
		{"no key configured, an empty bearer", keyless, "Bearer ", false},
		{"no key configured, an empty password", keyless, basic("", ""), false},
		{"metrics are open, the rest is not", open, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, target := range []string{
				"GET /_cache", "GET /_cache/", "GET /_cache/lookup?tag=a", "GET /_cache/ops.css", "GET /_cache/api/stats",
				"GET /_cache/api/lookup?tag=a", "GET /_cache/nothing", "POST /_cache/purge", "POST /_cache/api/purge", "GET /metrics",
			} {
				method, path, _ := strings.Cut(target, " ")
				a := call(t, tt.h, method, path, nil, "Authorization", tt.header)
				in := tt.in || tt.h == http.Handler(open) && path == "/metrics"
				if refused := a.status == http.StatusUnauthorized; refused == in {
					t.Errorf("%s = %d, want access: %v", target, a.status, in)
				}
				if a.header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s: Cache-Control: %q", target, a.header.Get("Cache-Control"))
				}
				if !in && (a.body != "Unauthorized\n" || len(a.header.Values("WWW-Authenticate")) != 2) {
					t.Errorf("%s was refused with %q, %v", target, a.body, a.header.Values("WWW-Authenticate"))
				}
			}
		})
	}
}

// No key is ever written to the log, right or wrong.
func TestKeysAreNotLogged(t *testing.T) {
	var log strings.Builder
	h := handler(t, ops.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	for _, header := range []string{"Bearer nonsense", basic("u", "nonsense"), "Bearer " + adminKey, ""} {
		call(t, h, http.MethodGet, "/_cache", nil, "Authorization", header)
	}
	for _, secret := range []string{"nonsense", adminKey, "bm9uc2Vuc2U"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, &log)
		}
	}
	if n := strings.Count(log.String(), "refused"); n != 3 {
		t.Errorf("%d refusals were logged, want 3:\n%s", n, &log)
	}
}

// Another site cannot purge with a password that the browser remembers.
func TestOtherSitesCannotPurge(t *testing.T) {
	b := newBlog(t)
	b.visit("/")
	for _, tt := range []struct {
		name   string
		header []string
		want   int
	}{
		{"a program", nil, http.StatusOK},
		{"the page itself", []string{"Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		{"the page itself, in an old browser or without HTTPS", []string{"Origin", "http://" + host}, http.StatusOK},
		{"another site", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"another port", []string{"Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		{"another site, in an old browser", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"a page that hides where it is", []string{"Origin", "null"}, http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, before := b.visit("/")
			header := append([]string{"Authorization", basic("operator", adminKey)}, tt.header...)
			a := call(t, b.ops, http.MethodPost, "/_cache/api/purge", url.Values{"all": {"yes"}}, header...)
			if a.status != tt.want || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("= %d, %v, want %d", a.status, a.header, tt.want)
			}
			if _, after := b.visit("/"); (before && !after) != (tt.want == http.StatusOK) {
				t.Errorf("the home page was cached: %v, and is: %v", before, after)
			}
		})
	}
}

// Pages may load a style sheet and send forms home, and nothing else; everything
// else is refused without a word that could be cached.
func TestHeadersAndMethods(t *testing.T) {
	h := handler(t, ops.Config{})
	for target, want := range map[string]int{
		"GET /_cache": 200, "HEAD /_cache": 200, "GET /_cache/ops.css": 200, "GET /_cache/": 301, "GET /_cache/nothing": 404,
		"POST /_cache": 405, "DELETE /_cache": 405, "GET /_cache/purge": 405, "PUT /_cache/purge": 405, "GET /_cache/api/purge": 405,
		"POST /_cache/api/stats": 405, "POST /metrics": 405, "GET /metrics": 200, "HEAD /metrics": 200, "TRACE /_cache": 405,
	} {
		method, path, _ := strings.Cut(target, " ")
		a := call(t, h, method, path, nil, "Authorization", "Bearer "+adminKey)
		if a.status != want {
			t.Errorf("%s = %d, want %d", target, a.status, want)
		}
		for name, want := range map[string]string{
			"Cache-Control":          "no-store",
			"X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; " +
				"frame-ancestors 'none'",
			// With no-referrer, browsers say "Origin: null" where there is no HTTPS, and
			// the operator could not purge.
			"Referrer-Policy": "same-origin",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", target, name, got, want)
			}
		}
	}
}

// What the caches lack is said by name.
func TestNewRefusesHalfACache(t *testing.T) {
	_, err := ops.New(ops.Config{Caches: &ops.Caches{}})
	if err == nil {
		t.Fatal("caches without anything were accepted")
	}
	for _, field := range []string{"Objects", "Responses", "Tiers", "Index", "Changes"} {
		if !strings.Contains(err.Error(), "field Caches."+field+" is nil") {
			t.Errorf("%s is not named in %q", field, err)
		}
	}
}
