package httpcache_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dunglas/httpsfv"
	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stored is where the pages of a cache are.
type stored struct{ tiers *cache.Tiers }

func (s stored) invalidate(t testing.TB, tags ...string) {
	t.Helper()
	for _, tag := range tags {
		if err := s.tiers.Invalidate(context.WithoutCancel(t.Context()), invalidate.Tag(cache.DefaultTenant, tag)); err != nil {
			t.Error(err)
		}
	}
}

// expire makes all pages stale.
func (s stored) expire(t testing.TB) {
	t.Helper()
	if err := s.tiers.Expire(t.Context(), invalidate.All()); err != nil {
		t.Error(err)
	}
}

// server is a handler behind a cache.
type server struct {
	*httpcache.Handler
	c *httpcache.Cache
	stored
}

// serve puts a cache of a program's own pages in front of h.
func serve(t testing.TB, h http.HandlerFunc, cfg httpcache.Config) server {
	t.Helper()
	cfg.Preset = httpcache.Pages
	return proxied(t, h, cfg)
}

// proxied puts a cache with cfg in front of a handler.
func proxied(t testing.TB, h http.Handler, cfg httpcache.Config) server {
	t.Helper()
	if cfg.Tiers == nil {
		cfg.Tiers = openTiers(t, cache.TiersConfig{})
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	c, err := httpcache.New(cfg)
	closeAfter(t, c, err)
	return server{c.Handler(h), c, stored{cfg.Tiers}}
}

func openTiers(t testing.TB, cfg cache.TiersConfig) *cache.Tiers {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	tiers, err := cache.Open(cfg)
	closeAfter(t, tiers, err)
	return tiers
}

// openFollowing opens the Tiers of one of several processes. They are ready.
func openFollowing(t testing.TB, remote tier.Remote, l invalidate.Log) *cache.Tiers {
	t.Helper()
	tiers := openTiers(t, cache.TiersConfig{Remote: remote, Log: l})
	if err := tiers.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tiers
}

// closeAfter closes what was opened at the end of a test.
func closeAfter(t testing.TB, c interface{ Close(context.Context) error }, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// request makes a request; header is pairs of names and values.
func request(t testing.TB, method, target string, header ...string) *http.Request {
	t.Helper()
	return with(httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody), header)
}

// with adds a header, and the Host, to a request.
func with(r *http.Request, header []string) *http.Request {
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// answer is a response that was read.
type answer struct {
	status  int
	header  http.Header
	body    string
	trailer http.Header
}

func (a answer) String() string { return fmt.Sprintf("%d %v %q", a.status, a.header, a.body) }

// how returns Cache-Status without the cache's name.
func (a answer) how() string {
	_, how, _ := strings.Cut(strings.Join(a.header["Cache-Status"], ", "), ";")
	return how
}

func (a answer) hit() bool { return strings.HasPrefix(a.how(), "hit") }

func do(h http.Handler, r *http.Request) answer {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	res := w.Result()
	b, _ := io.ReadAll(res.Body)
	if _, err := httpsfv.UnmarshalList(res.Header["Cache-Status"]); err != nil {
		panic("Cache-Status is not a list: " + err.Error())
	}
	return answer{res.StatusCode, res.Header, string(b), res.Trailer}
}

func (s server) get(t testing.TB, target string, header ...string) answer {
	t.Helper()
	return do(s, request(t, http.MethodGet, target, header...))
}

// counted is a handler that counts its calls, and writes the count.
type counted struct {
	atomic.Int64
	header http.Header
	status int
}

func (c *counted) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n := c.Add(1)
	maps.Copy(w.Header(), c.header)
	if c.status != 0 {
		w.WriteHeader(c.status)
	}
	fmt.Fprintf(w, "rendering %d", n)
}

// gate lets a handler wait for a test, and the test for the handler.
type gate struct {
	reached, open chan struct{}
	once          sync.Once
}

func newGate() *gate { return &gate{reached: make(chan struct{}), open: make(chan struct{})} }

// pass makes the handler wait, the first time only.
func (g *gate) pass() {
	first := false
	g.once.Do(func() { first = true })
	if first {
		close(g.reached)
		<-g.open
	}
}

// sleep lets time pass in a bubble.
func sleep(t *testing.T, d string) {
	t.Helper()
	n, err := time.ParseDuration(d)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(n)
	synctest.Wait()
}

func panicked(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// isAbort compares as net/http does before it logs a panic.
func isAbort(p any) bool {
	return p == any(http.ErrAbortHandler)
}

// zeros reads as any number of bytes.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// meter is a writer that keeps nothing.
type meter struct {
	header http.Header
	status int
	n      int64
	most   int64
	watch  func()
}

func (m *meter) Header() http.Header { return m.header }

func (m *meter) WriteHeader(status int) { m.status = status }

func (m *meter) Write(b []byte) (int, error) {
	if m.n%(32<<20) == 0 && m.watch != nil {
		m.watch()
	}
	m.n += int64(len(b))
	return len(b), nil
}

// heap returns how much memory is in use, without garbage.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// anybody accepts every request.
func anybody(*http.Request) bool { return true }
