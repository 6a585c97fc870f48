package digest_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// noon is in the middle of a day and of a period of four hours, in Singapore.
var noon = time.Date(2026, time.February, 25, 14, 0, 0, 0, time.FixedZone("+08", 8*60*60))

// patience allows for a busy machine: no lease or claim may expire because of it.
const patience = 10 * time.Second

// scribe writes a digest that names its items, and counts its calls.
type scribe struct {
	variant summary.Variant
	calls   atomic.Int64

	mu   sync.Mutex // protects say
	say  func(ctx context.Context, r summary.Request) (summary.Summary, error)
	seen []summary.Request
}

func (s *scribe) Variant() summary.Variant { return s.variant }

func (s *scribe) Summarise(ctx context.Context, r summary.Request) (summary.Summary, error) {
	n := s.calls.Add(1)
	s.mu.Lock()
	say := s.say
	s.seen = append(s.seen, r)
	s.mu.Unlock()
	if say != nil {
		return say(ctx, r)
	}
	return text(r, n), nil
}

// says replaces the scribe's behaviour; nil restores it.
func (s *scribe) says(say func(ctx context.Context, r summary.Request) (summary.Summary, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = say
}

// text differs for each call, so that two calls are never mistaken for one.
func text(r summary.Request, n int64) summary.Summary {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, written in call %d\n", r.Kind, n)
	for _, it := range r.Items {
		fmt.Fprintf(&b, "- [%s](%s)\n", it.Title, it.URL)
	}
	return summary.Summary{Markdown: b.String(), Model: "scribe", Items: len(r.Items), Tokens: 100}
}

// world is a database and a service on it. Its sources have the ids 1, 2, 3 and so on, and
// an item in every period up to now.
type world struct {
	*digest.Service
	t      testing.TB
	store  *store.Store
	path   string
	clock  *storetest.Clock
	scribe *scribe
}

func newWorld(t testing.TB, sources int, change ...func(c *digest.Config)) *world {
	t.Helper()
	w := &world{t: t, path: storetest.Path(t), clock: storetest.NewClock(noon), scribe: &scribe{}}
	w.store = storetest.Open(t, w.path, w.clock.Now)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for i := range sources {
			if _, err := tx.AddSource(ctx, store.Source{Name: fmt.Sprint("Source ", i+1), Type: "rss", Public: true}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, ago := range []int{1, 24, 6, 0} { // hours; the last is in the open period
		w.bring(noon.Add(-time.Duration(ago)*time.Hour), sources)
	}
	w.clock.Set(noon)
	w.Service = w.open(w.store, change...)
	return w
}

func (w *world) bring(at time.Time, sources int) {
	w.t.Helper()
	w.clock.Set(at)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for i := range sources {
			url := fmt.Sprintf("https://s%d.example/%d", i+1, at.Unix())
			it := store.Item{GUID: url, URL: url, Title: fmt.Sprintf("Item of %d at %s", i+1, at.Format("2 Jan 15h")), Content: "Something happened somewhere."}
			if _, err := tx.AddItems(ctx, int64(i+1), []store.Item{it}); err != nil {
				return err
			}
		}
		return nil
	})
}

// open opens a service. The test closes it at its end.
func (w *world) open(s *store.Store, change ...func(c *digest.Config)) *digest.Service {
	w.t.Helper()
	cfg := digest.Config{Store: s, Summariser: w.scribe, ClaimTTL: patience, Bound: patience, FlushEvery: time.Hour, Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&cfg)
	}
	svc, err := digest.Open(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := svc.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	return svc
}

// process opens a service on the same file with the same scribe, as another process would.
func (w *world) process(change ...func(c *digest.Config)) (*digest.Service, *store.Store) {
	w.t.Helper()
	s := storetest.Open(w.t, w.path, w.clock.Now)
	return w.open(s, change...), s
}

func (w *world) write(fn func(ctx context.Context, tx *store.Tx) error) {
	w.t.Helper()
	if err := w.store.Write(w.t.Context(), func(tx *store.Tx) error { return fn(w.t.Context(), tx) }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) user(name string, sources ...int64) (id int64) {
	w.t.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		if id, err = tx.AddUser(ctx, store.User{Name: name, Email: name + "@example.com", Slug: name}); err != nil {
			return err
		}
		return tx.Subscribe(ctx, id, sources...)
	})
	return id
}

func (w *world) daily(user int64) digest.Result {
	w.t.Helper()
	return w.generate(w.Service, user, digest.Daily)
}

func (w *world) generate(s *digest.Service, user int64, k digest.Kind) digest.Result {
	w.t.Helper()
	r, err := s.Generate(w.t.Context(), digest.Request{UserID: user, Kind: k})
	if err != nil {
		w.t.Fatalf("Generate for user %d = %v", user, err)
	}
	return r
}

// wantCalls checks the number of calls of the scribe so far.
func (w *world) wantCalls(want int64) {
	w.t.Helper()
	if got := w.scribe.calls.Load(); got != want {
		w.t.Errorf("the summariser was called %d times, want %d", got, want)
	}
}

// wantSame checks that a result is a digest, and equals its rows in digests and in the cache.
func (w *world) wantSame(user int64, r digest.Result) {
	w.t.Helper()
	row, err := w.store.DigestOf(w.t.Context(), user, string(r.Window.Kind), r.Window.Start, r.Window.End)
	if err != nil || r.State != digest.Ready || row.Content != r.Row.Content || row.ID != r.Row.ID || row.Content == "" {
		w.t.Errorf("user %d was given row %d, %s: %q; digests has row %d, %v: %q", user, r.Row.ID, r.State, r.Row.Content, row.ID, err, row.Content)
	}
	cached, err := w.store.CacheRow(w.t.Context(), r.Hash, string(r.Window.Kind), r.Window.Start, r.Window.End)
	if err != nil || cached.Content != row.Content || cached.State != store.StateReady {
		w.t.Errorf("the cache's row is %s, %v: %q; digests has %q", cached.State, err, cached.Content, row.Content)
	}
}

func (w *world) rows(table string) (n int) {
	w.t.Helper()
	_, readers := w.store.Pools()
	if err := readers.QueryRowContext(w.t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// until waits for another goroutine or process.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline, poll := time.NewTimer(30*time.Second), time.NewTicker(2*time.Millisecond)
	defer deadline.Stop()
	defer poll.Stop()
	for !done() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("in half a minute: no %s", what)
		}
	}
}
