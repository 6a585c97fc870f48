package httpcache_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// stuck is a client that does not read.
type stuck struct {
	*httptest.ResponseRecorder
	reads   chan struct{}
	hints   int  // informational responses
	early   bool // the final header came before one was read
	reading bool
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.reads
	return s.ResponseRecorder.Write(b)
}

func (s *stuck) Flush() {}

// WriteHeader sends an informational response at once.
func (s *stuck) WriteHeader(status int) {
	if status < http.StatusOK {
		s.hints++
		s.reading = true
		<-s.reads
		s.reading = false
		return
	}
	s.early = s.reading
	s.ResponseRecorder.WriteHeader(status)
}

// stuckAtHints tries a handler with two clients. The first does not read its hints until the second has
// the page.
func stuckAtHints(t *testing.T, hints int, h func(w http.ResponseWriter, wait func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		var n atomic.Int32
		s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if n.Add(1) == 1 {
				w.Header().Set("Link", "</a>; rel=preload")
				for range hints {
					w.WriteHeader(http.StatusEarlyHints)
				}
				w.Header().Del("Link")
				h(w, g.pass)
			} else {
				h(w, func() {})
			}
		}), httpcache.Config{})
		first, done := &stuck{ResponseRecorder: httptest.NewRecorder(), reads: make(chan struct{})}, make(chan struct{})
		go func() {
			defer close(done)
			s.ServeHTTP(first, request(t, http.MethodGet, "/"))
		}()
		synctest.Wait()
		second := make(chan answer, 1)
		go func() { second <- s.get(t, "/") }()
		synctest.Wait()
		close(g.open)
		synctest.Wait()
		select {
		case a := <-second:
			if a.body != "page" {
				t.Error(a)
			}
		default:
			t.Error("the second client waits for the first")
		}
		close(first.reads)
		<-done
		if first.early || first.hints != hints || first.Body.String() != "page" || first.Header().Get("Link") != "" {
			t.Errorf("the first client got %d hints and %q, %v", first.hints, first.Body, first.Header())
		}
	})
}

// A client that does not read an informational response delays no other, and gets all of them.
func TestSlowReaderOfHints(t *testing.T) {
	stuckAtHints(t, 2, func(w http.ResponseWriter, wait func()) {
		wait()
		w.Header().Set("Cache-Control", "max-age=60")
		_, _ = io.WriteString(w, "page")
	})
}

// An origin may send any number of informational responses. Few of them wait for a client that does not read.
func TestEndlessHints(t *testing.T) {
	for name, size := range map[string]int{"many": 1, "large": 10 << 10} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Link", strings.Repeat("x", size))
					for range 10_000 {
						w.WriteHeader(http.StatusEarlyHints)
					}
					w.Header().Del("Link")
					w.Header().Set("Cache-Control", "max-age=60")
					_, _ = io.WriteString(w, "page")
				}), httpcache.Config{})
				first, done := &stuck{ResponseRecorder: httptest.NewRecorder(), reads: make(chan struct{})}, make(chan struct{})
				go func() {
					defer close(done)
					s.ServeHTTP(first, request(t, http.MethodGet, "/"))
				}()
				synctest.Wait()
				close(first.reads)
				<-done
				if want := min(64, 64<<10/size); first.hints < 1 || first.hints > want+1 || first.Body.String() != "page" {
					t.Errorf("the client got %d hints and %q, want %d at most", first.hints, first.Body, want)
				}
			})
		})
	}
}

// A client that does not read its hints delays no other if its source flushes, or if the response is for its client only.
func TestSlowReaderOfHintsAndFlush(t *testing.T) {
	for _, cc := range []string{"max-age=60", "private"} {
		t.Run(cc, func(t *testing.T) {
			stuckAtHints(t, 1, func(w http.ResponseWriter, wait func()) {
				wait()
				w.Header().Set("Cache-Control", cc)
				_, _ = io.WriteString(w, "page")
				_ = http.NewResponseController(w).Flush()
			})
		})
	}
}

// After hints that its client was slow to read, a response without a body is whole.
func TestSlowReaderOfHintsAlone(t *testing.T) {
	for name, end := range map[string]func(w http.ResponseWriter){
		"empty": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"trailers": func(w http.ResponseWriter) {
			w.Header().Set("Trailer", "X-Sum")
			w.WriteHeader(http.StatusOK)
			w.Header().Set("X-Sum", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusEarlyHints)
					w.Header().Set("Cache-Control", "private")
					end(w)
				}), httpcache.Config{})
				first, done := &stuck{ResponseRecorder: httptest.NewRecorder(), reads: make(chan struct{})}, make(chan struct{})
				go func() {
					defer close(done)
					s.ServeHTTP(first, request(t, http.MethodGet, "/"))
				}()
				synctest.Wait()
				close(first.reads)
				<-done
				got := first.Result()
				if first.early || first.hints != 1 || got.Header.Get("Cache-Control") != "private" || name == "trailers" && got.Trailer.Get("X-Sum") != "1" {
					t.Errorf("%d hints, %v, %v", first.hints, got.Header, got.Trailer)
				}
			})
		})
	}
}
