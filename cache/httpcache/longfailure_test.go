package httpcache_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// failures are responses with status 500 that cannot be recorded.
func failures() map[string]http.HandlerFunc {
	long := strings.Repeat("x", 2000)
	return map[string]http.HandlerFunc{
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, long)
		},
		"announced as too long": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2000")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, long)
		},
		"cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, long[:10])
		},
	}
}

// failing is a handler with one page, and then failures.
func failing(header string, failure http.HandlerFunc) http.Handler {
	asked := false
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked {
			failure(w, r)
			return
		}
		asked = true
		w.Header().Set("Cache-Control", header)
		_, _ = io.WriteString(w, "page")
	})
}

// Stale-if-error counts for every failure, also for one that is too long to record, or cut short.
func TestStaleIfLongError(t *testing.T) {
	for name, failure := range failures() {
		t.Run(name, func(t *testing.T) {
			origin := func() http.Handler { return failing("max-age=1, stale-if-error=60", failure) }
			sides(t, httpcache.Config{MaxBody: 1000}, origin, func(t *testing.T, get func(header ...string) answer) {
				get()
				sleep(t, "2s")
				if a := get(); a.body != "page" || a.how() != "fwd=stale;fwd-status=500;detail=stale-if-error" {
					t.Errorf("within stale-if-error: %v", a)
				}
				sleep(t, "2m")
				if a := get(); a.status != http.StatusInternalServerError || a.body == "page" {
					t.Errorf("after it: %v", a)
				}
			})
		})
	}
}

// With Pages the policy says the same.
func TestPagesStaleIfLongError(t *testing.T) {
	for name, failure := range failures() {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, failing("", failure).ServeHTTP, httpcache.Config{
				MaxBody: 1000, Policy: policy.Patch{TTL: new(time.Second), StaleIfError: new(time.Minute)},
			})
			s.get(t, "/")
			sleep(t, "2s")
			if a := s.get(t, "/"); a.body != "page" {
				t.Errorf("%s: %v", name, a)
			}
			sleep(t, "2m")
			if a := s.get(t, "/"); a.status != http.StatusInternalServerError {
				t.Errorf("%s, later: %v", name, a)
			}
		})
	}
}
