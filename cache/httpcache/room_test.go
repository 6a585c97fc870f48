package httpcache_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

// Clients that read slowly do not keep other responses out of the cache: what is whole is recorded no more.
func TestSlowReadersLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const maxBody = 1 << 20
		body := strings.Repeat("x", maxBody)
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write([]byte(body))
		}), httpcache.Config{MaxBody: maxBody})
		open := make(chan struct{})
		var wg sync.WaitGroup
		for i := range int(httpcache.MaxHeld(maxBody) / maxBody) {
			wg.Go(func() {
				w := &stuck{ResponseRecorder: httptest.NewRecorder(), reads: open}
				s.ServeHTTP(w, request(t, http.MethodGet, fmt.Sprint("/slow/", i)))
				if n := w.Body.Len(); n != maxBody {
					t.Errorf("a slow client gets %d bytes", n)
				}
			})
		}
		synctest.Wait()
		for i := range 2 {
			if a := s.get(t, "/page"); a.body != body || a.hit() != (i > 0) {
				t.Errorf("another client gets %d bytes, %s", len(a.body), a.how())
			}
		}
		close(open)
		wg.Wait()
		if n := s.c.Held(); n != 0 {
			t.Errorf("%d bytes are held in the end", n)
		}
	})
}
