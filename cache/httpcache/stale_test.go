package httpcache_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// aging is a policy under which pages become stale.
var aging = policy.Patch{TTL: new(10 * time.Second), Stale: new(10 * time.Second), StaleIfError: new(time.Hour)}

// Age counts whole seconds since the rendering began. It includes the handler's own Age.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			sleep(t, "1500ms") // rendering counts as age
			w.Header().Set("Age", r.URL.Query().Get("age"))
		}, httpcache.Config{})
		s.get(t, "/")
		if a := s.get(t, "/?age=7"); a.header.Get("Age") != "7" || a.hit() {
			t.Error(a)
		}
		for _, step := range []struct{ wait, age, old string }{{"0s", "3", "8"}, {"499ms", "3", "8"}, {"1ms", "3", "9"}, {"1h", "3603", "3609"}} {
			sleep(t, step.wait)
			if a := s.get(t, "/"); a.header.Get("Age") != step.age || !a.hit() || a.how() != "hit" {
				t.Errorf("after %s: %v", step.wait, a)
			}
			if a := s.get(t, "/?age=7"); a.header.Get("Age") != step.old {
				t.Errorf("after %s: %v", step.wait, a)
			}
		}
	})
}

// Without a TTL no page expires.
func TestForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &counted{header: http.Header{"Cache-Control": {"public, max-age=1, s-maxage=0, must-revalidate"}, "Expires": {"0"}}}
		s := serve(t, h.ServeHTTP, httpcache.Config{})
		s.get(t, "/")
		sleep(t, "72h")
		if a := s.get(t, "/"); !a.hit() {
			t.Error(a)
		}
	})
}

// Within Stale the old page is served while one rendering replaces it.
func TestStaleWhileRevalidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(counted)
		s := serve(t, h.ServeHTTP, httpcache.Config{Policy: aging})
		s.get(t, "/")
		sleep(t, "4s")
		if a := s.get(t, "/"); a.how() != "hit;ttl=6" {
			t.Error(a)
		}
		sleep(t, "8s")
		if a := s.get(t, "/"); a.body != "rendering 1" || a.how() != "hit;detail=stale;ttl=-2" || a.header.Get("Age") != "12" {
			t.Error(a)
		}
		synctest.Wait()
		if a := s.get(t, "/"); a.body != "rendering 2" || a.how() != "hit;ttl=10" {
			t.Error(a)
		}
		sleep(t, "25s") // after Stale: the page is served only in place of a failure
		if a := s.get(t, "/"); a.body != "rendering 3" || a.how() != "fwd=stale;stored" {
			t.Error(a)
		}
		if st := s.c.Stats(); st.Stale != 1 || st.Misses != 2 || st.Hits != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// When the handler fails, by a status or a panic, the old page replaces the failure. An
// invalidated page never does.
func TestStaleIfError(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){
		"500": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"503 no-store": func(w http.ResponseWriter) {
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"panic": func(http.ResponseWriter) { panic("secret") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				var broken atomic.Bool
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					cache.Depend(r.Context(), "source")
					if broken.Load() {
						fail(w)
					}
					_, _ = w.Write([]byte("page"))
				}, httpcache.Config{Policy: aging, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				s.get(t, "/")
				broken.Store(true)
				sleep(t, "30s")
				how := "fwd=stale;fwd-status=" + name[:3] + ";detail=stale-if-error"
				if name == "panic" {
					how = "fwd=stale;detail=stale-if-error"
				}
				if a := s.get(t, "/"); a.body != "page" || a.status != 200 || a.how() != how {
					t.Error(a)
				}
				if a := s.get(t, "/"); a.body != "page" || a.how() != "hit;detail=stale;ttl=-20" { // Throttle spares the handler
					t.Error(a)
				}
				sleep(t, "1s")
				if a := s.get(t, "/"); a.how() != how {
					t.Errorf("the handler was spared for too long: %v", a)
				}
				if panicked := strings.Contains(log.String(), "panicked"); panicked != (name == "panic") || strings.Contains(log.String(), "secret") {
					t.Errorf("the log says %q", &log)
				}
				s.invalidate(t, "source")
				if name != "panic" {
					if a := s.get(t, "/"); a.status < 500 {
						t.Errorf("served though it was invalidated: %v", a)
					}
				} else if p := panicked(func() { s.get(t, "/") }); p == nil {
					t.Error("served though it was invalidated")
				}
				broken.Store(false)
				if a := s.get(t, "/"); a.status != 200 || a.hit() {
					t.Errorf("a failure was remembered: %v", a)
				}
			})
		})
	}
}

// A page that becomes private is not replaced by its old version.
func TestStaleIsNoExcuseForPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		private := false
		s := serve(t, personal(func(w http.ResponseWriter, _ *http.Request) {
			if private {
				w.Header().Set("Set-Cookie", "a=b")
			}
		}), httpcache.Config{Policy: aging})
		s.get(t, "/")
		private = true
		sleep(t, "30s")
		if a := s.get(t, "/", "X-Who", "alice"); a.body != "hello alice" || a.header.Get("Set-Cookie") == "" {
			t.Error(a)
		}
	})
}

// A failure without an older page goes only to the clients that wait for it.
func TestFailureIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, h := newGate(), &counted{status: http.StatusBadGateway}
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			g.pass()
			h.ServeHTTP(w, r)
		}, httpcache.Config{})
		for _, a := range crowd(t, s, 10, func() { close(g.open) }, func(int) *http.Request { return request(t, http.MethodGet, "/") }) {
			if a.status != http.StatusBadGateway || a.body != "rendering 1" {
				t.Error(a)
			}
		}
		if a := s.get(t, "/"); a.body != "rendering 2" {
			t.Error(a)
		}
	})
}

// With ErrorTTL, a failure is remembered and the handler is spared.
func TestFailureIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &counted{status: http.StatusBadGateway}
		s := serve(t, h.ServeHTTP, httpcache.Config{Policy: policy.Patch{ErrorTTL: new(5 * time.Second)}})
		for _, c := range []struct{ wait, body, how string }{
			{"0s", "rendering 1", "fwd=uri-miss;detail=status"}, {"4s", "rendering 1", "hit"}, {"2s", "rendering 2", "fwd=uri-miss;detail=status"},
		} {
			sleep(t, c.wait)
			if a := s.get(t, "/"); a.status != http.StatusBadGateway || a.body != c.body || a.how() != c.how {
				t.Error(a)
			}
		}
	})
}

// An older page replaces one that takes too long.
func TestStaleIfSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := false
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if slow {
				<-r.Context().Done()
			}
			_, _ = w.Write([]byte("page"))
		}, httpcache.Config{Policy: policy.Patch{TTL: new(time.Second), StaleIfError: new(time.Hour), LoadTimeout: new(time.Second)}})
		s.get(t, "/")
		slow = true
		sleep(t, "1m")
		if a := s.get(t, "/"); a.body != "page" || a.header.Get("Age") != "61" {
			t.Error(a)
		}
	})
}

// After Expire a page is refreshed while readers get the old one.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(counted)
		s := serve(t, h.ServeHTTP, httpcache.Config{Policy: policy.Patch{Stale: new(time.Minute)}})
		s.get(t, "/")
		if err := s.c.Expire(t.Context(), request(t, http.MethodGet, "/")); err != nil {
			t.Fatal(err)
		}
		if a := s.get(t, "/"); a.body != "rendering 1" || a.how() != "hit;detail=stale" {
			t.Error(a)
		}
		synctest.Wait()
		if a := s.get(t, "/"); a.body != "rendering 2" || a.how() != "hit" {
			t.Error(a)
		}
	})
}
