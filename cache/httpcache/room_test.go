package httpcache_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A handler that panics holds no room for other responses, whoever asked.
func TestRoomAfterPanic(t *testing.T) {
	for _, c := range []struct {
		name   string
		method string
		header []string
		cfg    httpcache.Config
	}{
		{"for everybody", http.MethodGet, nil, httpcache.Config{}},
		{"for a client that says no-store", http.MethodGet, []string{"Cache-Control", "no-store"}, httpcache.Config{}},
		{"for a HEAD", http.MethodHead, nil, httpcache.Config{}},
		{"without a cache", http.MethodGet, nil, httpcache.Config{Off: true}},
		{"without a cache, for a HEAD", http.MethodHead, nil, httpcache.Config{Off: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "half of a page")
					panic(http.ErrAbortHandler)
				}, c.cfg)
				if panicked(func() { do(s, request(t, c.method, "/", c.header...)) }) == nil {
					t.Error("no panic")
				}
				synctest.Wait()
				if n := s.c.Held(); n != 0 {
					t.Errorf("%d bytes are held for a response that ended", n)
				}
			})
		})
	}
}
