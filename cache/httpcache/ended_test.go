package httpcache_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A body that was cut short is never stored, by any kind of request.
func TestWarmIsNotCutShort(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		_, _ = io.WriteString(w, "the first half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer origin.Close()
	u, err := url.Parse(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := proxied(t, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }}, httpcache.Config{Hosts: []string{"example.com"}})
	w, err := s.Warm(t.Context(), "/", nil)
	if err == nil || w.Stored {
		t.Errorf("%+v, %v", w, err)
	}
}

// A handler that flushes its answer to a revalidation still answers the cache.
func TestFlushedToTheCache(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		how    string
	}{
		"304": {http.StatusNotModified, "fwd=stale"},
		"503": {http.StatusServiceUnavailable, "fwd=stale;fwd-status=503;detail=stale-if-error"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if asked++; asked == 1 {
						w.Header().Set("Etag", `"a"`)
						w.Header().Set("Cache-Control", "max-age=10, stale-if-error=60")
						fmt.Fprint(w, "page")
						return
					}
					w.WriteHeader(c.status)
					if c.status != http.StatusNotModified {
						fmt.Fprint(w, "down")
					}
					_ = http.NewResponseController(w).Flush()
				}), httpcache.Config{})
				s.get(t, "/")
				sleep(t, "11s")
				if a := s.get(t, "/"); a.status != http.StatusOK || a.body != "page" || !strings.HasPrefix(a.how(), c.how) {
					t.Error(a)
				}
			})
		})
	}
}

// The age of a page counts from its header, even if its body takes long.
func TestSlowBodyIsNoYounger(t *testing.T) {
	var asked int
	origin := func() http.Handler {
		asked = 0
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Cache-Control", "max-age=30")
			_ = http.NewResponseController(w).Flush()
			<-time.After(20 * time.Second)
			fmt.Fprint(w, "page ", asked)
		})
	}
	sides(t, httpcache.Config{}, origin, func(t *testing.T, get func(...string) answer) {
		get()
		sleep(t, "5s")
		if a := get(); !a.hit() || a.header.Get("Age") != "25" {
			t.Error(a)
		}
		sleep(t, "6s")
		if a := get(); a.body != "page 2" {
			t.Error(a)
		}
	})
}

// A refresh may begin while the cache is closed.
func TestCloseDuringRefresh(t *testing.T) {
	for range 8 {
		synctest.Test(t, func(t *testing.T) {
			s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", "max-age=1, stale-while-revalidate=60")
			}), httpcache.Config{})
			s.get(t, "/")
			sleep(t, "2s")
			s.get(t, "/")
			if err := s.c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			c := transport(t, numbered("Cache-Control", "max-age=1, stale-while-revalidate=60"), httpcache.TransportConfig{})
			c.get(t)
			sleep(t, "2s")
			c.get(t)
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
