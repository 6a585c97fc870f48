package state_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

var day = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)

func keeper(path string) *state.Keeper {
	return state.NewKeeper(path, sqlite.Off, func() time.Time { return day }, slog.New(slog.DiscardHandler))
}

func open(t *testing.T) *state.Store {
	t.Helper()
	s, err := keeper(filepath.Join(t.TempDir(), "rss.db")).Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func begin(t *testing.T, s *state.Store, now time.Time) state.Lease {
	t.Helper()
	l, err := s.Begin(t.Context(), state.Start{Site: "a", SitemapURL: "https://example.com/s.xml", TTL: time.Minute, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// list lists the pages 0 to n-1 in a sitemap of the site.
func list(t *testing.T, s *state.Store, l state.Lease, now time.Time, n int) {
	t.Helper()
	f, err := s.Visit(t.Context(), l, now, sitemap.Ref{URL: "https://example.com/s.xml"})
	if err != nil {
		t.Fatal(err)
	}
	err = s.List(t.Context(), l, now, f, func(put func(sitemap.Entry) error) (bool, error) {
		for i := range n {
			if err := put(sitemap.Entry{Loc: fmt.Sprintf("https://example.com/%d", i), LastMod: day.Add(time.Duration(i) * time.Hour)}); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func detect(t *testing.T, s *state.Store, l state.Lease, r state.Rules) state.Detected {
	t.Helper()
	r.Whole = true
	d, err := s.Detect(t.Context(), l, r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOpenKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%20.db") // characters with a meaning in a URL
	for i := range 2 {
		s, err := keeper(path).Store(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Site(t.Context(), "a"); (i == 0) != errors.Is(err, state.ErrNoSite) {
			t.Errorf("opened %d times, the site is: %v", i+1, err)
		}
		if err := s.End(t.Context(), begin(t, s, day), day, state.OK, nil, nil); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := keeper(t.TempDir()).Store(t.Context()); err == nil || errors.Is(err, sqlite.ErrCorrupt) {
		t.Errorf("a folder, opened as a database: %v", err)
	}
}

func TestCorruptFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rss.db")
	for _, name := range []string{path, path + "-wal"} {
		if err := os.WriteFile(name, []byte("no database"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := keeper(path)
	s, err := k.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path + ".corrupt-1772323200000"); err != nil || string(b) != "no database" {
		t.Errorf("set aside is %q, %v", b, err)
	}
	if err := k.Replace(s); err != nil {
		t.Error(err)
	}
	again, err := k.Store(t.Context()) // the check passes, so the file stays
	if err != nil || again == s {
		t.Errorf("Store after Replace = %p, %v", again, err)
	}
	if err := errors.Join(k.Replace(s), k.Close(), k.Close()); err != nil {
		t.Error(err)
	}
	if all, _ := filepath.Glob(path + ".corrupt-*[0-9]"); len(all) != 1 {
		t.Errorf("%q were set aside, want one", all)
	}
}

func TestLease(t *testing.T) {
	s := open(t)
	first := begin(t, s, day)
	if _, err := s.Begin(t.Context(), state.Start{Site: "a", TTL: time.Minute, Now: day.Add(59 * time.Second)}); !errors.Is(err, state.ErrLeased) {
		t.Errorf("a second run: %v, want ErrLeased", err)
	}
	if _, err := s.Visit(t.Context(), first, day.Add(30*time.Second), sitemap.Ref{URL: "https://example.com/s.xml"}); err != nil { // renews the lease
		t.Error(err)
	}
	if _, err := s.Begin(t.Context(), state.Start{Site: "a", TTL: time.Minute, Now: day.Add(80 * time.Second)}); !errors.Is(err, state.ErrLeased) {
		t.Errorf("a second run after a step: %v, want ErrLeased", err)
	}
	if _, err := s.Visit(t.Context(), first, day.Add(time.Hour), sitemap.Ref{URL: "https://example.com/s.xml"}); err != nil { // late, but alone
		t.Errorf("a late step: %v", err)
	}
	second := begin(t, s, day.Add(2*time.Hour))
	if _, err := s.Visit(t.Context(), first, day.Add(2*time.Hour), sitemap.Ref{URL: "https://example.com/s.xml"}); !errors.Is(err, state.ErrLeaseLost) {
		t.Errorf("a step of the first run: %v, want ErrLeaseLost", err)
	}
	if err := s.End(t.Context(), second, day.Add(2*time.Hour), state.OK, nil, nil); err != nil {
		t.Error(err)
	}
	if _, err := s.Visit(t.Context(), second, day.Add(2*time.Hour), sitemap.Ref{URL: "https://example.com/s.xml"}); !errors.Is(err, state.ErrLeaseLost) {
		t.Errorf("a step after the end: %v, want ErrLeaseLost", err)
	}
}

func TestSavePageKeepsWhatReadersKnow(t *testing.T) {
	s := open(t)
	l := begin(t, s, day)
	list(t, s, l, day, 2)
	detect(t, s, l, state.Rules{Now: day, Baseline: 2})
	due, total, err := s.Due(t.Context(), l.Site.ID, day, 10, true)
	if err != nil || total != 2 || len(due) != 2 {
		t.Fatalf("Due = %v, %d, %v", due, total, err)
	}
	for round, title := range []string{"first", "second"} {
		now, want := day.Add(time.Duration(round)*time.Hour), []state.Verdict{state.Published, state.Updated}[round]
		for _, u := range due {
			if v, err := s.SavePage(t.Context(), l, now, u, page.Meta{Title: title, Published: now, Hash: title}); err != nil || v != want {
				t.Fatalf("SavePage = %v, %v, want %v", v, err, want)
			}
		}
	}
	if _, total, err := s.Due(t.Context(), l.Site.ID, day, 10, true); err != nil || total != 0 {
		t.Errorf("%d pages are due still, %v", total, err)
	}
	w, err := s.Window(t.Context(), l.Site.ID, 10)
	if err != nil || len(w) != 2 || w[0].GUID != "https://example.com/1" || w[0].Title != "second" || !w[0].Date.Equal(day) || !w[0].Published.Equal(day) {
		t.Errorf("Window = %+v, %v", w, err)
	}
}

// TestDocumentsTables queries the source document's names of tables, columns and indexes.
func TestDocumentsTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rss.db")
	s, err := keeper(path).Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := begin(t, s, day)
	list(t, s, l, day, 4)
	detect(t, s, l, state.Rules{Now: day, Baseline: 3})
	due, _, err := s.Due(t.Context(), l.Site.ID, day, 2, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SavePage(t.Context(), l, day, due[0], page.Meta{Title: "ready", Published: day}); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveFailure(t.Context(), l, day, due[1], "status 503", day); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for query, want := range map[string][]string{
		`SELECT site_name || ' ' || sitemap_url || ' ' || last_run || ' ' || created_at || ' ' || updated_at FROM site_states`: {
			"a https://example.com/s.xml 2026-03-01 00:00:00 2026-03-01 00:00:00 2026-03-01 00:00:00",
		},
		`SELECT url || ' ' || state || ' ' || first_seen || ' ' || last_seen FROM url_states WHERE site_name = 'a' ORDER BY url`: {
			"https://example.com/0 1 2026-03-01 00:00:00 2026-03-01 00:00:00", "https://example.com/1 2 2026-03-01 00:00:00 2026-03-01 00:00:00",
			"https://example.com/2 0 2026-03-01 00:00:00 2026-03-01 00:00:00", "https://example.com/3 1 2026-03-01 00:00:00 2026-03-01 00:00:00",
		},
		`SELECT name FROM sqlite_schema WHERE type = 'index' AND name IN ('idx_url_state', 'idx_url_lastseen')
			ORDER BY name`: {"idx_url_lastseen", "idx_url_state"},
	} {
		got, err := sqlite.List[string](t.Context(), db.Conn, query)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", query, err, diff)
		}
	}
}
