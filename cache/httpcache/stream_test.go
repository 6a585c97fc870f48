package httpcache_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/policy"
)

// listen serves h on the loopback.
func listen(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = nil
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// dial sends a request to srv. The caller closes the body.
func dial(t *testing.T, srv *httptest.Server, path string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// fetch reads the answer to a request, as far as it arrives.
func fetch(t *testing.T, srv *httptest.Server, path string, header ...string) (answer, error) {
	t.Helper()
	res := dial(t, srv, path, header...)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(b), res.Trailer}, err
}

// A flushing handler reaches its client at once, runs longer than LoadTimeout, and its context
// ends when the client leaves. It is called once.
func TestStream(t *testing.T) {
	next, gone := make(chan string), make(chan error, 1)
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		for {
			select {
			case m := <-next:
				fmt.Fprintln(w, m)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				gone <- context.Cause(r.Context())
				return
			}
		}
	}, httpcache.Config{Policy: policy.Patch{LoadTimeout: new(10 * time.Second)}})
	srv := listen(t, s)
	go func() { next <- "one" }()
	res := dial(t, srv, "/")
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for _, m := range []string{"one", "two", "three"} {
		if m != "one" {
			next <- m
		}
		if !lines.Scan() || lines.Text() != m {
			t.Fatalf("got %q, want %q: %v", lines.Text(), m, lines.Err())
		}
	}
	res.Body.Close()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := asked.Load(); n != 1 || res.Header.Get("Cache-Status") != "twofold;fwd=uri-miss;detail=flush" {
		t.Errorf("%d renderings, %v", n, res.Header)
	}
	if err := s.tiers.Close(t.Context()); err != nil { // waits for the load
		t.Error(err)
	}
	if st := s.c.Stats(); st.Refused["flush"] != 1 || st.Stored != 0 {
		t.Errorf("%+v", st)
	}
}

// A stream outlives LoadTimeout.
func TestStreamOutlivesLoadTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "a")
			_ = http.NewResponseController(w).Flush()
			sleep(t, "1h")
			fmt.Fprint(w, "b ", r.Context().Err())
		}, httpcache.Config{Policy: policy.Patch{LoadTimeout: new(time.Second)}})
		if a := s.get(t, "/"); a.body != "ab <nil>" {
			t.Error(a)
		}
	})
}

// A private stream is begun for everybody, ended as soon as it is known to be private, and begun
// again for its client.
func TestPrivateStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told error
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusOK)
			if who(r) == "nobody" {
				<-r.Context().Done()
				_, told = w.Write([]byte("is anybody there?"))
				return
			}
			_, _ = w.Write([]byte("hello " + who(r)))
		}, httpcache.Config{Policy: policy.Patch{LoadTimeout: new(time.Hour)}})
		began := time.Now()
		if a := s.get(t, "/", "X-Who", "alice"); a.body != "hello alice" || time.Since(began) != 0 {
			t.Error(a)
		}
		synctest.Wait()
		if told == nil {
			t.Error("the handler's context did not end")
		}
	})
}

// A body over MaxBody goes through, whole and once, and is not held in memory.
func TestTooLarge(t *testing.T) {
	const size = 256 << 20
	for name, announced := range map[string]bool{"announced": true, "not announced": false} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				if announced {
					w.Header().Set("Content-Length", fmt.Sprint(size))
				}
				if n, err := io.Copy(w, io.LimitReader(zeros{}, size)); n != size || err != nil {
					t.Errorf("wrote %d: %v", n, err)
				}
			}, httpcache.Config{})
			w := &meter{header: http.Header{}}
			before := heap()
			w.watch = func() { w.most = max(w.most, heap()-before) }
			s.ServeHTTP(w, request(t, http.MethodGet, "/"))
			if w.n != size || asked.Load() != 1 || w.most > 32<<20 {
				t.Errorf("%d bytes, %d renderings, %d bytes of memory", w.n, asked.Load(), w.most)
			}
			if st := s.c.Stats(); st.Refused["too-large"] != 1 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// The client of a HEAD gets no stream, and does not keep one alive.
func TestHeadOfAStream(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Stream", "yes")
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("tick")) // it ignores errors
			w.(http.Flusher).Flush()
		}
	}, httpcache.Config{})
	for range 2 {
		if a := do(s, request(t, http.MethodHead, "/")); a.body != "" || a.header.Get("X-Stream") != "yes" {
			t.Error(a)
		}
	}
}

// A request that bypasses the cache has the connection to itself.
func TestResponseController(t *testing.T) {
	for name, header := range map[string][]string{
		"upgrade": {"Connection", "Upgrade", "Upgrade", "echo"}, // bypasses the cache
		"hidden":  nil,                                          // the cache notices only at the takeover
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				c := http.NewResponseController(w)
				if c.SetReadDeadline(time.Time{}) != nil || c.SetWriteDeadline(time.Time{}) != nil || c.EnableFullDuplex() != nil {
					return
				}
				conn, rw, err := c.Hijack()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello")
				_ = rw.Flush()
			}, httpcache.Config{})
			srv := listen(t, s)
			a, err := fetch(t, srv, "/", header...)
			if a.status != http.StatusSwitchingProtocols || a.body != "hello" || err != nil && !errors.Is(err, net.ErrClosed) {
				t.Errorf("%v %v", a, err)
			}
		})
	}
}

// A panic in the middle of a stream breaks only its client's connection.
func TestPanicInAStream(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "half")
		if r.URL.Path == "/broken" {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}, httpcache.Config{})
	srv := listen(t, s)
	if a, err := fetch(t, srv, "/broken"); a.body != "half" || err == nil {
		t.Errorf("%v, %v: the client takes the body for whole", a, err)
	}
	if a, err := fetch(t, srv, "/"); a.body != "half" || err != nil {
		t.Errorf("%v, %v", a, err)
	}
}

// A POST reaches its handler with its body, and its answer streams.
func TestPost(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}, httpcache.Config{})
	srv := listen(t, s)
	res, err := srv.Client().Post(srv.URL, "text/plain", strings.NewReader("hello")) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); string(b) != "hello" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// A handler that writes more than it has announced reaches its client as without a cache: the server cuts
// the rest off.
func TestMoreThanAnnounced(t *testing.T) {
	for _, preset := range []httpcache.Preset{httpcache.Shared, httpcache.Pages} {
		srv := listen(t, proxied(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=60")
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "page")
			_, _ = io.WriteString(w, "\n")
		}), httpcache.Config{Preset: preset}))
		for range 2 {
			if a, err := fetch(t, srv, "/"); a.body != "page" || a.hit() || err != nil {
				t.Errorf("%v, %v", a, err)
			}
		}
	}
}
