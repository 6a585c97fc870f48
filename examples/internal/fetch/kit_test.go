package fetch_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/tier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTiers returns tiers that end with the test. remote may be nil.
func newTiers(t *testing.T, remote tier.Remote) *cache.Tiers {
	t.Helper()
	tiers, err := cache.Open(cache.TiersConfig{Remote: remote, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tiers.Close(t.Context()) })
	return tiers
}

// newClient returns a client with cfg. If cfg has no tiers, it gets new ones.
func newClient(t *testing.T, cfg fetch.Config) *fetch.Client {
	t.Helper()
	if cfg.Tiers == nil {
		cfg.Tiers = newTiers(t, nil)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "TestBot/1.0 (+https://bot.example)"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := fetch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// origin is a server that records its requests.
type origin struct {
	*httptest.Server

	mu   sync.Mutex // protects seen
	seen []*http.Request
}

func newOrigin(t *testing.T, h http.HandlerFunc) *origin {
	t.Helper()
	o := &origin{}
	o.Server = httptest.NewServer(o.remember(h))
	t.Cleanup(o.Close)
	return o
}

func (o *origin) remember(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.seen = append(o.seen, r.Clone(r.Context()))
		o.mu.Unlock()
		h(w, r)
	}
}

func (o *origin) asked() []*http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*http.Request(nil), o.seen...)
}

func (o *origin) last(t *testing.T) *http.Request {
	t.Helper()
	all := o.asked()
	if len(all) == 0 {
		t.Fatal("the origin was not asked")
	}
	return all[len(all)-1]
}

// local returns a client that may request local origins.
func local(t *testing.T) *fetch.Client {
	t.Helper()
	return newClient(t, fetch.Config{AllowPrivate: true})
}

// get gets a URL, and fails the test on an error.
func get(t *testing.T, c *fetch.Client, r fetch.Request) fetch.Response {
	t.Helper()
	resp, err := c.Get(t.Context(), r)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return resp
}

// content returns the content of an answer, decompressed.
func content(t *testing.T, resp fetch.Response) string {
	t.Helper()
	r, err := resp.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	return string(b)
}

// wire is a function as a transport.
type wire func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// reply returns an answer for a wire.
func reply(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

// advance lets d pass in a bubble, and waits until all goroutines block.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
