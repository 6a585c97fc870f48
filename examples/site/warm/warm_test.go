package warm_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/warm"
)

// pages records the loaded paths.
type pages struct {
	mu     sync.Mutex // protects the rest
	loaded []string
	fail   string // the path whose load fails
}

func (p *pages) load(_ context.Context, path string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded = append(p.loaded, path)
	if path == p.fail {
		return errors.New("broken")
	}
	return nil
}

// taken returns the paths loaded since the last call.
func (p *pages) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	loaded := p.loaded
	p.loaded = nil
	return loaded
}

// config returns the configuration of a Warmer that loads with load.
func config(load func(ctx context.Context, path string) error) warm.Config {
	return warm.Config{Load: load, Delay: delay, Batch: 4, Max: 10, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()}
}

// run returns a Warmer that runs until the bubble's test ends.
func run(t *testing.T, cfg warm.Config) *warm.Warmer {
	t.Helper()
	w := warm.New(cfg)
	go w.Run(t.Context())
	synctest.Wait()
	return w
}

// delay is the time from a write to the warm-up.
const delay = 250 * time.Millisecond

// A burst of writes causes one warm-up of each page, a moment after the first write.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pages{}
		w := run(t, config(p.load))
		for range 3 {
			w.Add("/pages/s", "/sitemap.xml")
			time.Sleep(delay / 10) //nolint:forbidigo // in a bubble
		}
		if got := p.taken(); len(got) > 0 {
			t.Errorf("loaded at once: %v", got)
		}
		time.Sleep(delay) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if diff := cmp.Diff([]string{"/pages/s", "/sitemap.xml"}, p.taken()); diff != "" {
			t.Errorf("loaded (-want +got)\n%s", diff)
		}
	})
}

// A page that is written while it is loaded is loaded again.
func TestWriteDuringWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pages{}
		var w *warm.Warmer
		again := sync.OnceFunc(func() { w.Add("/a") })
		w = run(t, config(func(ctx context.Context, path string) error {
			again()
			return p.load(ctx, path)
		}))
		w.Add("/a", "/a")
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if got := p.taken(); len(got) != 2 {
			t.Errorf("loaded %v, want /a twice", got)
		}
	})
}

// The queue is bounded, a batch too, and a failure does not stop later pages.
func TestBoundsAndFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pages{fail: "/b"}
		cfg := config(p.load)
		w := run(t, cfg)
		w.Add("/a", "/b", "/c")
		for i := range 20 {
			w.Add("/" + strings.Repeat("x", i+1))
		}
		for i, want := range []int{0, 4, 4, 2, 0} {
			if got := p.taken(); len(got) != want {
				t.Errorf("batch %d has %v, want %d", i, got, want)
			}
			time.Sleep(delay) //nolint:forbidigo // in a bubble
			synctest.Wait()
		}
		want := `# HELP site_warm_dropped_total Warm-ups without room. Their pages are cold, not stale.
# TYPE site_warm_dropped_total counter
site_warm_dropped_total 13
# HELP site_warm_failures_total Warm-ups that failed.
# TYPE site_warm_failures_total counter
site_warm_failures_total 1
# HELP site_warm_queue_len Pages that wait for a warm-up.
# TYPE site_warm_queue_len gauge
site_warm_queue_len 0
`
		if err := testutil.GatherAndCompare(cfg.Metrics.(prometheus.Gatherer), strings.NewReader(want),
			"site_warm_dropped_total", "site_warm_failures_total", "site_warm_queue_len"); err != nil {
			t.Error(err)
		}
		if n, err := testutil.GatherAndCount(cfg.Metrics.(prometheus.Gatherer), "site_warm_seconds"); n != 1 || err != nil {
			t.Errorf("%d series of warm_seconds, want 1", n)
		}
	})
}

// writer calls a function with each line of a log.
type writer func(line string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// At the start, the objects that all pages show are read, and the first pages are warmed up. Then the
// log says so.
func TestStart(t *testing.T) {
	r := sitetest.Seeded(t).Reader()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // much longer than the warm-up
	defer cancel()
	p, counted, months := &pages{}, 0, r.MonthCounts
	r.MonthCounts = func(ctx context.Context) ([]content.MonthCount, error) {
		counted++
		return months(ctx)
	}
	cfg := config(p.load)
	cfg.Reader, cfg.Delay, cfg.Max, cfg.Batch = r, 1, 100, 20
	said := ""
	cfg.Log = slog.New(slog.NewTextHandler(writer(func(line string) {
		said += line
		cancel()
	}), nil))
	w := warm.New(cfg)
	w.Add(events.Front)
	w.Run(ctx)
	got := p.taken()
	if want := fmt.Sprintf(`"the warm-up of the start has ended" pages=%d `, len(got)); !strings.Contains(said, want) {
		t.Errorf("the log is %q, want %s", said, want)
	}
	for _, want := range []string{"/", "/?page=2", "/sitemap.xml", "/robots.txt", "/pages/about", "/posts/cutting"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not warmed up: %v", want, got)
		}
	}
	if counted != 1 {
		t.Errorf("the months were read %d times", counted)
	}
}
