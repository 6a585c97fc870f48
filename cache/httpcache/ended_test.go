package httpcache_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"testing/synctest"

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
