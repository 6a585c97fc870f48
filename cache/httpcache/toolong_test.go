package httpcache_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// A handler that writes more than it has announced reaches its client as without a cache: the server cuts
// the rest off.
func TestMoreThanAnnounced(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Content-Length", "4")
		_, _ = io.WriteString(w, "page")
		_, _ = io.WriteString(w, "\n")
	})
	for name, preset := range map[string]httpcache.Preset{"Shared": httpcache.Shared, "Pages": httpcache.Pages} {
		c, err := httpcache.New(httpcache.Config{Tiers: openTiers(t, cache.TiersConfig{}), Preset: preset})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(c.Handler(next))
		for range 2 {
			resp, err := s.Client().Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			if a := readAll(t, resp); a.body != "page" || a.hit() {
				t.Errorf("%s: %v", name, a)
			}
		}
		s.Close()
	}
}
