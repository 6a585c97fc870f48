package state_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

var day = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)

func open(t *testing.T) *state.Store {
	t.Helper()
	s, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "rss.db"), state.Options{Relaxed: true})
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

func begin(t *testing.T, s *state.Store, owner string, now time.Time) state.Lease {
	t.Helper()
	l, err := s.Begin(t.Context(), state.Start{Site: "a", SitemapURL: "https://example.com/s.xml", Owner: owner, TTL: time.Minute, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// list makes a sitemap of the site list the pages 0 to n-1.
func list(t *testing.T, s *state.Store, l state.Lease, now time.Time, n int) {
	t.Helper()
	f, err := s.Visit(t.Context(), l, now, sitemap.Ref{URL: "https://example.com/s.xml"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Read(t.Context(), l, state.Reading{File: f, Hash: fmt.Sprint(n), Now: now}, func(put func(sitemap.Entry) error) (sitemap.Summary, error) {
		for i := range n {
			if err := put(sitemap.Entry{Loc: fmt.Sprintf("https://example.com/%d", i), LastMod: day.Add(time.Duration(i) * time.Hour)}); err != nil {
				return sitemap.Summary{}, err
			}
		}
		return sitemap.Summary{Kind: sitemap.URLSet, Entries: n}, nil
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
	path := filepath.Join(t.TempDir(), "a b?c#d%20.db") // all of which mean something in a URL
	for i := range 2 {
		s, err := state.Open(t.Context(), path, state.Options{Thorough: i == 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Site(t.Context(), "a"); (i == 0) != errors.Is(err, state.ErrNoSite) {
			t.Errorf("opened %d times, the site is: %v", i+1, err)
		}
		if err := s.End(t.Context(), begin(t, s, "x", day), day, state.OK, nil, nil); err != nil {
			t.Error(err)
		}
		if err := errors.Join(s.Ping(t.Context()), s.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := state.Open(t.Context(), t.TempDir(), state.Options{}); err == nil || errors.Is(err, state.ErrCorrupt) {
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
	if _, err := state.Open(t.Context(), path, state.Options{}); !errors.Is(err, state.ErrCorrupt) {
		t.Fatalf("Open = %v, want ErrCorrupt", err)
	}
	k := state.NewKeeper(path, state.Options{}, func() time.Time { return day }, slog.New(slog.DiscardHandler))
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
	again, err := k.Store(t.Context()) // which finds it well, and keeps it
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
	first := begin(t, s, "x", day)
	if _, err := s.Begin(t.Context(), state.Start{Site: "a", Owner: "y", TTL: time.Minute, Now: day.Add(59 * time.Second)}); !errors.Is(err, state.ErrLeased) {
		t.Errorf("a second run: %v, want ErrLeased", err)
	}
	if _, err := s.Publish(t.Context(), first, day.Add(30*time.Second)); err != nil { // renews it
		t.Error(err)
	}
	if _, err := s.Begin(t.Context(), state.Start{Site: "a", Owner: "y", TTL: time.Minute, Now: day.Add(80 * time.Second)}); !errors.Is(err, state.ErrLeased) {
		t.Errorf("a second run after a step: %v, want ErrLeased", err)
	}
	if _, err := s.Publish(t.Context(), first, day.Add(time.Hour)); err != nil { // late, and alone
		t.Errorf("a late step: %v", err)
	}
	second := begin(t, s, "y", day.Add(2*time.Hour))
	if _, err := s.Publish(t.Context(), first, day.Add(2*time.Hour)); !errors.Is(err, state.ErrLeaseLost) {
		t.Errorf("a step of the first run: %v, want ErrLeaseLost", err)
	}
	if err := s.End(t.Context(), second, day.Add(2*time.Hour), state.OK, nil, nil); err != nil {
		t.Error(err)
	}
	if _, err := s.Publish(t.Context(), second, day.Add(2*time.Hour)); !errors.Is(err, state.ErrLeaseLost) {
		t.Errorf("a step after the end: %v, want ErrLeaseLost", err)
	}
}

// TestPruneCountsGonePagesAlone is the document's cap: of the gone pages, the newest
// are kept, and of the others a tombstone.
func TestPruneCountsGonePagesAlone(t *testing.T) {
	s := open(t)
	l := begin(t, s, "x", day)
	list(t, s, l, day, 30)
	detect(t, s, l, state.Rules{Now: day})
	list(t, s, l, day, 20)
	if d := detect(t, s, l, state.Rules{Now: day, VanishMin: 100}); d.Gone != 10 {
		t.Fatalf("%+v", d)
	}
	keep := state.Keep{Now: day.Add(time.Hour), Gone: 24 * time.Hour, MaxGone: 4, Tombstones: 24 * time.Hour, Items: 5, Runs: 5}
	if p, err := s.Prune(t.Context(), l, keep); err != nil || p.URLs != 6 {
		t.Errorf("Prune = %+v, %v; want 6 pages", p, err)
	}
	st, err := s.Stats(t.Context(), "a", day)
	if diff := cmp.Diff(state.PageCounts{Done: 20, Gone: 4}, st.Pages); err != nil || diff != "" || st.Tombstones != 6 {
		t.Errorf("%d tombstones, %v, pages (-want +got):\n%s", st.Tombstones, err, diff)
	}
	list(t, s, l, day, 30)
	if d := detect(t, s, l, state.Rules{Now: day}); d.New != 0 || d.Silent != 6 || d.Back != 4 {
		t.Errorf("when they are back: %+v", d)
	}
	keep.Now = day.AddDate(1, 0, 0)
	if p, err := s.Prune(t.Context(), l, keep); err != nil || p.Tombstones != 0 { // those of pages that are back are gone
		t.Errorf("Prune = %+v, %v", p, err)
	}
}

// TestUnpublishedPagesLeaveNoTombstone: a page that was never published is new when
// it comes back, however late.
func TestUnpublishedPagesLeaveNoTombstone(t *testing.T) {
	s := open(t)
	l := begin(t, s, "x", day)
	list(t, s, l, day, 1)
	detect(t, s, l, state.Rules{Now: day})
	list(t, s, l, day, 2) // page 1 is new
	detect(t, s, l, state.Rules{Now: day})
	list(t, s, l, day, 1)
	detect(t, s, l, state.Rules{Now: day, VanishMin: 5})
	now := day.AddDate(0, 2, 0)
	if p, err := s.Prune(t.Context(), l, state.Keep{Now: now, Gone: 24 * time.Hour, MaxGone: 5, Tombstones: 24 * time.Hour, Items: 5, Runs: 5}); err != nil || p.URLs != 1 {
		t.Errorf("Prune = %+v, %v", p, err)
	}
	list(t, s, l, now, 2)
	if d := detect(t, s, l, state.Rules{Now: now}); d.New != 1 {
		t.Errorf("back again: %+v, want it new", d)
	}
}

func TestPublishKeepsWhatReadersKnow(t *testing.T) {
	s := open(t)
	l := begin(t, s, "x", day)
	list(t, s, l, day, 2)
	detect(t, s, l, state.Rules{Now: day, Baseline: 2})
	for round, title := range []string{"first", "second"} {
		now := day.Add(time.Duration(round) * time.Hour)
		due, total, err := s.Due(t.Context(), l.Site.ID, now, 10, true)
		if err != nil || total != len(due) || round == 0 && total != 2 {
			t.Fatalf("Due = %v, %d, %v", due, total, err)
		}
		for _, u := range due {
			if v, err := s.SavePage(t.Context(), l, now, u, state.Page{Title: title, Date: now, Hash: title}); err != nil || v != state.Ready {
				t.Fatalf("SavePage = %v, %v", v, err)
			}
		}
		if _, err := s.Publish(t.Context(), l, now); err != nil {
			t.Fatal(err)
		}
		if p, err := s.Publish(t.Context(), l, now); err != nil || p != (state.Published{}) {
			t.Errorf("publishing again = %+v, %v; want nothing", p, err)
		}
	}
	w, err := s.Window(t.Context(), l.Site.ID, 10)
	if err != nil || len(w) != 2 || w[0].Key != "example.com/1" || w[0].Title != "first" {
		t.Errorf("Window = %+v, %v", w, err)
	}
}

func TestStats(t *testing.T) {
	s := open(t)
	l := begin(t, s, "x", day)
	list(t, s, l, day, 3)
	detect(t, s, l, state.Rules{Now: day, Baseline: 2})
	due, _, err := s.Due(t.Context(), l.Site.ID, day, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveFailure(t.Context(), l, day, due[0], "status 404", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := s.End(t.Context(), l, day.Add(time.Second), state.Partial, map[string]int{"n": 1}, errors.New("why")); err != nil {
		t.Fatal(err)
	}
	got, err := s.Stats(t.Context(), "a", day)
	want := state.Stats{
		Site: "a", SitemapURL: "https://example.com/s.xml", Sitemaps: 1, Pages: state.PageCounts{Pending: 1, Done: 1, Failed: 1, GivenUp: 1},
		Errors: map[string]int{"status 404": 1}, LastRun: day, LastOK: day.Add(time.Second), Baseline: day,
		Runs: []state.Run{{ID: 1, Started: day, Ended: day.Add(time.Second), Outcome: "partial", Error: "why", Report: []byte(`{"n":1}`)}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := s.Stats(t.Context(), "b", day); !errors.Is(err, state.ErrNoSite) {
		t.Errorf("of another site: %v", err)
	}
}

// TestRolledBack: a write whose filling fails leaves nothing.
func TestRolledBack(t *testing.T) {
	s := open(t)
	l := begin(t, s, "x", day)
	f, err := s.Visit(t.Context(), l, day, sitemap.Ref{URL: "https://example.com/s.xml"})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	_, err = s.Read(t.Context(), l, state.Reading{File: f, Hash: "h", Now: day}, func(put func(sitemap.Entry) error) (sitemap.Summary, error) {
		if err := put(sitemap.Entry{Loc: "https://example.com/1"}); err != nil {
			t.Error(err)
		}
		return sitemap.Summary{}, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("Read = %v", err)
	}
	if d := detect(t, s, l, state.Rules{Now: day}); d.Listed != 0 {
		t.Errorf("%+v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Publish(ctx, l, day); !errors.Is(err, context.Canceled) {
		t.Errorf("Publish with a context that ended: %v", err)
	}
}
