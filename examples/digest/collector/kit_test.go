package collector_test

import (
	"github.com/twofold-go/twofold/examples/internal/fetch"

	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/store"
)

var noon = time.Date(2026, time.February, 25, 12, 0, 0, 0, time.UTC)

// template is an empty database. Creating one takes a second under the race detector.
var template []byte

func TestMain(m *testing.M) {
	if path := os.Getenv(childDB); path != "" {
		os.Exit(child(path))
	}
	var err error
	if template, err = makeTemplate(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func makeTemplate() ([]byte, error) {
	dir, err := os.MkdirTemp("", "collector")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	path := filepath.Join(dir, "t.db")
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // Close moves the WAL into the file
		return nil, err
	}
	return os.ReadFile(path)
}

// clock is a clock that a test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(words string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), words)
}

// world is a database with a clock and the parts of a collector.
type world struct {
	*testing.T
	path  string
	clock *clock
	db    *store.Store
	log   *lines
	fakes map[string]*fake // by type, for New
	share time.Duration    // see fetchers.Config
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, path: filepath.Join(t.TempDir(), "d.db"), clock: &clock{t: noon}, log: &lines{}, fakes: map[string]*fake{}, share: -1}
	if err := os.WriteFile(w.path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	w.db = w.open()
	for _, typ := range []string{"rss", "hackernews", "website", "mastodon"} {
		w.fakes[typ] = &fake{}
	}
	return w
}

// open opens the database again, as another process would.
func (w *world) open() *store.Store {
	w.Helper()
	s, err := store.Open(w.Context(), w.path, store.Options{Now: w.clock.now})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = s.Close() })
	return s
}

// collector returns a collector with the fakes and the given changes.
func (w *world) collector(change ...func(*collector.Config)) *collector.Collector {
	w.Helper()
	log := slog.New(slog.NewTextHandler(w.log, nil))
	tiers, err := cache.Open(cache.TiersConfig{Logger: log})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = tiers.Close(context.Background()) })
	cfg := collector.Config{Store: w.db, Tiers: tiers, Fetchers: map[string]fetchers.Fetcher{}, Log: log}
	cfg.Schedule.Rand = func() float64 { return 0.5 }
	for typ, f := range w.fakes {
		cfg.Fetchers[typ] = f
	}
	for _, fn := range change {
		fn(&cfg)
	}
	c, err := collector.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// add adds a source. If its config has no url, it gets a unique one.
func (w *world) add(typ, config string) int64 {
	w.Helper()
	var id int64
	if config == "" {
		config = `{"url":"https://` + typ + `-` + w.clock.now().Format("150405.000") + `.example/"}`
	}
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		id, err = tx.AddSource(ctx, store.Source{Name: typ, Type: typ, Config: json.RawMessage(config), Public: true})
		return err
	})
	return id
}

func (w *world) write(fn func(ctx context.Context, tx *store.Tx) error) {
	w.Helper()
	if err := w.db.Write(w.Context(), func(tx *store.Tx) error { return fn(w.Context(), tx) }); err != nil {
		w.Fatal(err)
	}
}

// sql changes the database directly.
func (w *world) sql(query string, args ...any) {
	w.Helper()
	writer, _ := w.db.Pools()
	if _, err := writer.ExecContext(w.Context(), query, args...); err != nil {
		w.Fatal(err)
	}
}

// fetchedAgo gives a source a last fetch of d ago, and clears the rest of its state.
func (w *world) fetchedAgo(id int64, d time.Duration) {
	w.Helper()
	w.sql(`UPDATE sources SET last_fetched_at = ? WHERE id = ?`, w.clock.now().Add(-d).UnixMilli(), id)
}

func (w *world) state(id int64) store.FetchState {
	w.Helper()
	s, err := w.db.FetchState(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// items returns the titles of a source's items, oldest version first.
func (w *world) items(id int64) (titles []string) {
	w.Helper()
	all, err := w.db.Items(w.Context(), []int64{id}, time.UnixMilli(0), time.UnixMilli(1<<50), 10000)
	if err != nil {
		w.Fatal(err)
	}
	for _, it := range all {
		titles = append(titles, it.Title)
	}
	return titles
}

func (w *world) once(c *collector.Collector) {
	w.Helper()
	if err := c.RunOnce(w.Context(), nil); err != nil {
		w.Fatal(err)
	}
}

// eventually waits until ok returns true.
func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	limit := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-poll.C:
		case <-limit:
			w.Fatalf("this did not come about: %s", what)
		}
	}
}

// wait waits for c, with a time limit.
func (w *world) wait(c <-chan struct{}) {
	w.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		w.Fatal("nothing came")
	}
}

// result waits for an error, with a time limit.
func (w *world) result(c <-chan error) error {
	w.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(30 * time.Second):
		w.Fatal("nothing came")
		return nil
	}
}

func intervals(t testing.TB, minutes map[string]string) schedule.Intervals {
	t.Helper()
	in, err := schedule.Set(minutes, []string{"mastodon"})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// real makes a collector fetch over HTTP.
func (w *world) real() func(*collector.Config) {
	w.Helper()
	tiers, err := cache.Open(cache.TiersConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = tiers.Close(context.Background()) })
	client, err := fetch.New(fetch.Config{Tiers: tiers, UserAgent: "CollectorTest/1.0", AllowPrivate: true, Now: w.clock.now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(client.Close)
	return func(c *collector.Config) { c.Fetchers = fetchers.New(fetchers.Config{Client: client}) }
}

func feedOf(titles ...string) string {
	var b strings.Builder
	for _, t := range titles {
		fmt.Fprintf(&b, "<item><guid>%s</guid><title>%s</title></item>", t, t)
	}
	return `<?xml version="1.0"?><rss version="2.0"><channel><title>F</title>` + b.String() + `</channel></rss>`
}
