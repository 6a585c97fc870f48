package demo_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/demo"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/population"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a short demonstration, and returns what it printed. It must leave nothing
// behind.
func run(t *testing.T, ctx context.Context, cfg demo.Config) (string, error) { //nolint:revive // t first, as everywhere in tests
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	cfg.Out = &out
	err := demo.Run(ctx, demo.Short(cfg, 2))
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	return out.String(), err
}

// All promises are kept, and a database with a name stays.
func TestRun(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	path := filepath.Join(t.TempDir(), "digest.db")
	out, err := run(t, t.Context(), demo.Config{Users: 100, Seed: 2, DB: path, Progress: null})
	if err != nil || strings.Contains(out, "MISSED") {
		t.Errorf("%v after\n%s", err, out)
	}
	if n := strings.Count(out, "\nok "); n != 17 {
		t.Errorf("%d promises were kept, want 17, after\n%s", n, out)
	}
	for _, want := range []string{"100 users, 25 sources, 2 periods of four hours", "promised for 100 users", "Ledger Daily", "in the database"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	user, err := st.UserBySlug(t.Context(), population.Slug(1))
	if err != nil {
		t.Error(err)
	}
	rows, err := st.Digests(t.Context(), user.ID, string(digest.Daily), 5)
	if err != nil || len(rows) != 1 || !strings.HasPrefix(rows[0].Content, "# Daily digest") {
		t.Errorf("%d digests, %v, want one of the day", len(rows), err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if _, err := run(t, t.Context(), demo.Config{Users: 10, DB: path}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("on a database that is there: %v, want %v", err, fs.ErrExist)
	}
}

// A database of one's own is left alone, also one in which nothing would be in the way.
func TestRunLeavesADatabaseAlone(t *testing.T) {
	path := storetest.Path(t)
	if _, err := run(t, t.Context(), demo.Config{Users: 10, DB: path}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Run = %v, want %v", err, fs.ErrExist)
	}
	if states, err := storetest.Open(t, path, nil).FetchStates(t.Context()); err != nil || len(states) != 0 {
		t.Errorf("%d sources, %v", len(states), err)
	}
}

// The table of the document is held to where it says something, to the last user.
func TestTable(t *testing.T) {
	for _, tt := range []struct {
		users      int
		misses     int64
		ratio, cut string
	}{
		{100, 15, "ok", "ok"}, // 6.67 times fewer, which the document rounds
		{100, 16, "MISSED", "MISSED"},
		{1000, 80, "ok", "ok"},
		{1000, 81, "MISSED", "MISSED"},
		{2000, 160, "ok", "ok"},
		{10_000, 300, "ok", "ok"},
		{10_000, 304, "MISSED", "MISSED"},
		{99, 99, "", ""},
	} {
		out, err := demo.Table(tt.users, tt.misses)
		if missed := tt.ratio == "MISSED"; errors.Is(err, demo.ErrMissed) != missed {
			t.Errorf("%d of %d users: %v", tt.misses, tt.users, err)
		}
		ratio, cut := verdict(out, "as many users share a digest"), verdict(out, "as many calls are saved")
		if ratio != tt.ratio || cut != tt.cut {
			t.Errorf("%d of %d users: %q and %q, want %q and %q", tt.misses, tt.users, ratio, cut, tt.ratio, tt.cut)
		}
	}
}

// A request that came to nothing spares nothing.
func TestSaved(t *testing.T) {
	for _, tt := range []struct{ hits, misses, empty, calls, want int64 }{
		{0, 0, 0, 0, 0},
		{90, 10, 0, 10, 90},
		{90, 10, 5, 9, 86},  // one combination without news, and four more who asked for it
		{90, 10, 100, 0, 0}, // no news at all
	} {
		if got := demo.Saved(tt.hits, tt.misses, tt.empty, tt.calls); got != tt.want {
			t.Errorf("%+v: %d calls were saved", tt, got)
		}
	}
}

// verdict returns what the line of a promise begins with; empty: there is none.
func verdict(out, promise string) string {
	for line := range strings.Lines(out) {
		if word, rest, _ := strings.Cut(line, " "); strings.HasPrefix(strings.TrimSpace(rest), promise) {
			return word
		}
	}
	return ""
}

// Whatever goes wrong in the database, or with the summariser, is seen.
func TestBrokenPromises(t *testing.T) {
	cfg := demo.Tampered(demo.Config{Users: 20, Summariser: lazy{calls: new(atomic.Int64)}}, meddle)
	out, err := run(t, t.Context(), cfg)
	if !errors.Is(err, demo.ErrMissed) || !strings.Contains(out, "promises nothing of so few users") {
		t.Errorf("%v after\n%s", err, out)
	}
	if !strings.Contains(out, "https://twice.example/ of Ledger Daily") {
		t.Errorf("it is not said what is stored twice in\n%s", out)
	}
	for _, promise := range []string{
		"no combination is paid for twice", "everybody is served", "what users read is what is cached", "no digest tells of an item twice",
		"a restart costs no call", "hashes change with subscriptions", "what is kept of subscriptions", "a source that was deleted", "no item is stored twice",
		"every source that failed", "the source that nobody can fetch", "the program's own numbers",
	} {
		if !strings.Contains(out, "MISSED  "+promise) {
			t.Errorf("that %s is not missed in\n%s", promise, out)
		}
	}
}

// meddle breaks whatever a write can break.
func meddle(ctx context.Context, a *app.App) error {
	st := a.Store
	rows, err := st.Digests(ctx, 2, "", 1)
	if err != nil {
		return err
	}
	sources, err := st.VisibleSources(ctx, 0)
	if err != nil {
		return err
	}
	pack, err := st.PackBySlug(ctx, "essentials")
	if err != nil {
		return err
	}
	err = st.Write(ctx, func(tx *store.Tx) error {
		errs := []error{tx.AddCounts(ctx, store.Count{Name: "hits", Label: string(digest.Daily), Value: 1})}
		for _, row := range rows {
			row.Content += "!"
			_, err := tx.PutDigest(ctx, row)
			errs = append(errs, err)
		}
		for _, s := range sources {
			if s.Name == "Ledger Daily" {
				_, err := tx.AddItems(ctx, s.ID, []store.Item{{GUID: "a", URL: "https://twice.example/"}, {GUID: "b", URL: "https://twice.example/"}})
				errs = append(errs, err, tx.SetSourceActive(ctx, s.ID, false))
			}
		}
		return errors.Join(append(errs, tx.RestoreSource(ctx, pack.SourceIDs[len(pack.SourceIDs)-1]))...)
	})
	if err != nil {
		return err
	}
	if _, err := a.Digests.Forget(ctx, store.CacheSelection{All: true}, "test"); err != nil {
		return err
	}
	for _, kind := range []digest.Kind{digest.FourHours, digest.Daily} { // which pays for something again
		_, _ = a.Digests.Generate(ctx, digest.Request{UserID: 1, Kind: kind}) // the summariser may fail
	}
	writer, _ := st.Pools()
	_, err = writer.ExecContext(ctx, `UPDATE user_subscription_hashes SET subscription_hash = 'x' || substr(subscription_hash, 2) WHERE user_id = 3`)
	return err
}

// headlines writes next to nothing, which takes next to no time.
type headlines struct{}

func (headlines) Variant() summary.Variant { return summary.Variant{Model: "headlines"} }

func (headlines) Summarise(_ context.Context, r summary.Request) (summary.Summary, error) {
	var b strings.Builder
	b.WriteString("# Headlines\n\n")
	for _, it := range r.Items[max(0, len(r.Items)-3):] {
		b.WriteString("- [" + it.Title + "](" + it.URL + ")\n")
	}
	return summary.Summary{Markdown: b.String(), Model: "headlines", Items: len(r.Items), Tokens: 7}, nil
}

// lazy repeats itself, and fails now and then.
type lazy struct {
	headlines
	calls *atomic.Int64
}

func (l lazy) Summarise(ctx context.Context, r summary.Request) (summary.Summary, error) {
	got, err := l.headlines.Summarise(ctx, r)
	got.Markdown += got.Markdown
	if l.calls.Add(1)%4 == 0 {
		err = errors.New("not now")
	}
	return got, err
}

// Somebody who has seen enough does not wait.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var stopped time.Time
	cfg := demo.Tampered(demo.Config{Users: 10, Summariser: headlines{}}, func(context.Context, *app.App) error {
		stopped = time.Now()
		cancel()
		return nil
	})
	out, err := run(t, ctx, cfg)
	if took := time.Since(stopped); !errors.Is(err, context.Canceled) || errors.Is(err, demo.ErrMissed) || out != "" || took > 5*time.Second {
		t.Errorf("%v after %v and\n%s", err, took, out)
	}
}

func TestConfig(t *testing.T) {
	if _, err := run(t, t.Context(), demo.Config{Users: -1}); !errors.Is(err, population.ErrConfig) {
		t.Errorf("-1 users: %v, want ErrConfig", err)
	}
	if _, err := run(t, t.Context(), demo.Config{DB: filepath.Join(t.TempDir(), "no", "where")}); err == nil || errors.Is(err, demo.ErrMissed) {
		t.Errorf("a database nowhere: %v, want that it cannot be opened", err)
	}
}
