package collector_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func (w *world) real(remote tier.Remote, change ...func(*fetch.Config)) func(*collector.Config) {
	w.Helper()
	tiers, err := cache.Open(cache.TiersConfig{Remote: remote, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = tiers.Close(context.Background()) })
	cfg := fetch.Config{
		Tiers: tiers, UserAgent: "CollectorTest/1.0 (+https://bot.example)", AllowPrivate: true, Now: w.clock.now,
		Timeout: 10 * time.Second, DeadFor: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	}
	for _, fn := range change {
		fn(&cfg)
	}
	client, err := fetch.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(client.Close)
	return func(c *collector.Config) { c.Fetchers = fetchers.New(fetchers.Config{Client: client, Share: w.share}) }
}

// within limits the time of a request. Connecting has no lower limit of its own: on a busy machine even a
// server of this process may take that long, which would be another fault.
func within(limit time.Duration) func(*fetch.Config) {
	return func(c *fetch.Config) {
		c.Timeout, c.Transport = limit, &http.Transport{DisableKeepAlives: true}
	}
}

// serve starts a server and adds a source for it.
func (w *world) serve(h http.HandlerFunc) (id int64, base string) {
	w.Helper()
	s := httptest.NewServer(h)
	w.Cleanup(s.Close)
	return w.add("rss", `{"url":"`+s.URL+`/feed"}`), s.URL
}

func feedOf(titles ...string) string {
	var b strings.Builder
	for _, t := range titles {
		fmt.Fprintf(&b, "<item><guid>%s</guid><title>%s</title></item>", t, t)
	}
	return `<?xml version="1.0"?><rss version="2.0"><channel><title>F</title>` + b.String() + `</channel></rss>`
}

func TestFaults(t *testing.T) {
	hang := make(chan struct{})
	for _, tt := range []struct {
		name   string
		h      http.HandlerFunc
		config func(*fetch.Config)
		kind   string
		status int64
		wait   time.Duration // until the retry; 0: random
	}{
		{"500", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }, nil, "status", 500, 0},
		{"429 with seconds", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "7200")
			rw.WriteHeader(http.StatusTooManyRequests)
		}, nil, "status", 429, 2 * time.Hour},
		{"503 with a date", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", noon.Add(3*time.Hour).Format(http.TimeFormat))
			rw.WriteHeader(http.StatusServiceUnavailable)
		}, nil, "status", 503, 3 * time.Hour},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-hang:
			}
		}, within(50 * time.Millisecond), fetch.ErrTimeout.Error(), 0, 0},
		{"hangs in the body", func(rw http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(rw, "<rss>")
			_ = http.NewResponseController(rw).Flush()
			select {
			case <-r.Context().Done():
			case <-hang:
			}
		}, within(100 * time.Millisecond), fetch.ErrTimeout.Error(), 0, 0},
		{"50 MB", func(rw http.ResponseWriter, _ *http.Request) {
			block := []byte(strings.Repeat("<!-- filler -->\n", 1<<12))
			for range 50 << 20 / len(block) {
				if _, err := rw.Write(block); err != nil {
					return
				}
			}
		}, func(c *fetch.Config) { c.MaxBytes = 1 << 20 }, fetch.ErrTooLarge.Error(), 0, 0},
		{"redirect loop", func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, r.URL.Path, http.StatusFound) }, nil, fetch.ErrRedirectLoop.Error(), 0, 0},
		{"redirects for ever", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, r.URL.Path+"x", http.StatusFound)
		}, nil, fetch.ErrTooManyRedirects.Error(), 0, 0},
		{"no feed", func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "<html>please pay") }, nil, "parse", 200, 0},
		{"private address", func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, feedOf("secret"))
		}, func(c *fetch.Config) { c.AllowPrivate = false }, fetch.ErrPrivateAddress.Error(), 0, 0},
		{"redirect to a private address", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		}, nil, fetch.ErrPrivateAddress.Error(), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			bad, _ := w.serve(tt.h)
			config := func(*fetch.Config) {}
			if tt.config != nil {
				config = tt.config
			}
			w.once(w.collector(w.real(nil, config)))
			s := w.state(bad)
			if s.Failures != 1 || !s.Active || s.LastError == "" || len(w.items(bad)) != 0 {
				t.Errorf("the source: %+v", s)
			}
			if hint := strings.Contains(s.LastError, "--allow-private permits"); hint != strings.Contains(tt.name, "private") {
				t.Errorf("the error is %q", s.LastError)
			}
			wait := tt.wait
			if wait == 0 {
				wait = 15 * time.Minute
			}
			if got := s.BackoffUntil.Sub(noon); got != wait {
				t.Errorf("tried again after %v, want %v", got, wait)
			}
			var kind string
			var status int64
			_, readers := w.db.Pools()
			if err := readers.QueryRowContext(t.Context(), `SELECT error_kind, status FROM fetch_log`).Scan(&kind, &status); err != nil || kind != tt.kind || status != tt.status {
				t.Errorf("log: %q %d, %v; want %q %d (last error: %s)", kind, status, err, tt.kind, tt.status, s.LastError)
			}
		})
	}
	close(hang)
}

// All faults at once do not delay a source that works.
func TestFaultsDelayNoOther(t *testing.T) {
	w := newWorld(t)
	hang := make(chan struct{})
	defer close(hang)
	for range 3 {
		w.serve(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-hang:
			}
		})
	}
	w.serve(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) })
	good, _ := w.serve(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, feedOf("a")) })
	ctx, stop := context.WithCancel(t.Context())
	kill, done := make(chan struct{}), make(chan error, 1)
	c := w.collector(w.real(nil))
	go func() { done <- c.Run(ctx, kill) }()
	w.eventually("the good one is fetched while others hang", func() bool {
		return w.state(good).FetchCount == 1 && c.Counts().InFlight == 3
	})
	stop()
	close(kill)
	_ = w.result(done)
}

func TestCharsetChanges(t *testing.T) {
	w := newWorld(t)
	var n atomic.Int64
	id, _ := w.serve(func(rw http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			rw.Header().Set("Content-Type", "text/xml; charset=utf-8")
			_, _ = io.WriteString(rw, feedOf("Café"))
			return
		}
		rw.Header().Set("Content-Type", "text/xml; charset=iso-8859-1")
		_, _ = io.WriteString(rw, strings.ReplaceAll(feedOf("Café", "Thé"), "é", "\xe9"))
	})
	c := w.collector(w.real(nil))
	for range 2 {
		w.once(c)
		w.clock.add(4 * time.Hour)
	}
	if diff := cmp.Diff([]string{"Café", "Thé"}, w.items(id)); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

func TestMovesOverHTTP(t *testing.T) {
	for _, tt := range []struct {
		code    int
		adopted bool
	}{{http.StatusMovedPermanently, true}, {http.StatusPermanentRedirect, true}, {http.StatusFound, false}, {http.StatusTemporaryRedirect, false}} {
		w := newWorld(t)
		id, base := w.serve(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/feed" {
				http.Redirect(rw, r, "/new", tt.code)
				return
			}
			_, _ = io.WriteString(rw, feedOf("a"))
		})
		c := w.collector(w.real(nil))
		for i := range 3 {
			if got := string(w.state(id).Config); !strings.Contains(got, "/feed") {
				t.Fatalf("%d: adopted after %d fetches", tt.code, i)
			}
			w.once(c)
			w.clock.add(4 * time.Hour)
		}
		want := `{"url":"` + base + `/feed"}`
		if tt.adopted {
			want = `{"url":"` + base + `/new","moved_from":"` + base + `/feed"}`
		}
		if got := string(w.state(id).Config); got != want {
			t.Errorf("%d three times: %s, want %s", tt.code, got, want)
		}
		if diff := cmp.Diff([]string{"a"}, w.items(id)); diff != "" {
			t.Errorf("%d: items (-want +got):\n%s", tt.code, diff)
		}
	}
}

func TestGoneStops(t *testing.T) {
	w := newWorld(t)
	var n atomic.Int64
	id, _ := w.serve(func(rw http.ResponseWriter, _ *http.Request) { n.Add(1); rw.WriteHeader(http.StatusGone) })
	c := w.collector(w.real(nil), func(c *collector.Config) { c.Settings.Probe = time.Hour })
	for range 5 {
		w.once(c)
		w.clock.add(100 * time.Hour)
	}
	if s := w.state(id); n.Load() != 1 || s.Active || !s.Gone || c.StatusOf(s) != "gone" {
		t.Errorf("asked %d times: %+v", n.Load(), s)
	}
}

// The origin's own interval, from HTTP and from RSS.
func TestOriginsTTL(t *testing.T) {
	for _, tt := range []struct {
		cache, ttl string
		want       time.Duration
	}{
		{"", "", 4 * time.Hour},
		{"max-age=60", "60", 4 * time.Hour},
		{"max-age=21600", "", 6 * time.Hour},
		{"", "<ttl>600</ttl>", 10 * time.Hour},
		{"max-age=31536000", "<ttl>99999</ttl>", 24 * time.Hour},
	} {
		w := newWorld(t)
		id, _ := w.serve(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Date", w.clock.now().Format(http.TimeFormat))
			if tt.cache != "" {
				rw.Header().Set("Cache-Control", tt.cache)
			}
			_, _ = io.WriteString(rw, strings.Replace(feedOf("a"), "<title>F", tt.ttl+"<title>F", 1))
		})
		w.once(w.collector(w.real(nil)))
		if got := w.state(id).NextFetchAt.Sub(noon); got != tt.want {
			t.Errorf("Cache-Control %q and %q: next after %v, want %v", tt.cache, tt.ttl, got, tt.want)
		}
	}
}

// Conditional requests: the origin sends a body once, even to the next process, if both
// have the same remote tier. If a process fetched items but was killed before it stored
// them, the next process stores them despite its 304.
func TestNotModifiedOverHTTP(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var codes []int
	etag, titles := `"1"`, []string{"a"}
	id, _ := w.serve(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		rw.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			codes = append(codes, http.StatusNotModified)
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		codes = append(codes, http.StatusOK)
		_, _ = io.WriteString(rw, feedOf(titles...))
	})
	remote := tiertest.NewMemory()
	fetched := func(c *collector.Collector) collector.Report {
		t.Helper()
		r, err := c.CollectSource(t.Context(), id)
		if err != nil || r.Error != "" {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	c := w.collector(w.real(remote))
	if r := fetched(c); r.New != 1 || r.NotModified {
		t.Errorf("first: %+v", r)
	}
	if r := fetched(c); !r.NotModified {
		t.Errorf("second: %+v", r)
	}
	if r := fetched(w.collector(w.real(remote))); !r.NotModified {
		t.Errorf("in another process: %+v", r)
	}
	mu.Lock()
	etag, titles = `"2"`, []string{"a", "b"}
	mu.Unlock()
	w.sql(`CREATE TRIGGER no BEFORE INSERT ON raw_items BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
	if r, err := c.CollectSource(t.Context(), id); err != nil || r.Error == "" || c.Counts().Unstored != 1 {
		t.Errorf("nothing could be stored: %+v, %v", r, err)
	}
	w.sql(`DROP TRIGGER no`)
	w.clock.add(time.Hour)
	if r := fetched(c); r.New != 1 || r.NotModified {
		t.Errorf("after that: %+v, want what could not be stored", r)
	}
	if diff := cmp.Diff([]int{200, 304, 304, 200, 304}, codes); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, w.items(id)); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

// Two sources with the same address cost one request.
func TestDuplicateSourcesShareAnswers(t *testing.T) {
	w := newWorld(t)
	var n atomic.Int64
	_, base := w.serve(func(rw http.ResponseWriter, _ *http.Request) { n.Add(1); _, _ = io.WriteString(rw, feedOf("a")) })
	other := w.add("digest_feed", `{"url":"`+base+`/feed"}`)
	w.share = 0 // the default; the other tests do not share
	w.once(w.collector(w.real(nil)))
	if n.Load() != 1 || len(w.items(other)) != 1 {
		t.Errorf("%d requests, want 1; items %v", n.Load(), w.items(other))
	}
}
