package upgrade_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// The files of testdata were made by these commits: a run of one site, of whose four pages three
// could be read.
func TestRSSTracker(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	keeper := func(path string) *state.Keeper {
		return state.NewKeeper(path, sqlite.Off, time.Now, slog.New(slog.DiscardHandler))
	}
	k := keeper(fresh)
	if _, err := k.Store(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"41b6d4d", "f4a1850"} {
		t.Run(version, func(t *testing.T) {
			path := restore(t, filepath.Join("../../../rsstracker/state/testdata", version+".sql"))
			k := keeper(path)
			s, err := k.Store(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			run(t, s)
			if err := k.Close(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(schema(t, fresh), schema(t, path)); diff != "" {
				t.Errorf("schema (-new +upgraded)\n%s", diff)
			}
		})
	}
}

// run makes a run that finds the four known pages and a new one.
func run(t *testing.T, s *state.Store) {
	t.Helper()
	ctx, now := t.Context(), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	site, err := s.Site(ctx, "one")
	if err != nil || site.LastRun.IsZero() || site.Baseline.IsZero() {
		t.Fatalf("Site = %+v, %v", site, err)
	}
	l, err := s.Begin(ctx, state.Start{Site: "one", Scope: "another", TTL: time.Minute, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	file, err := s.Visit(ctx, l, now, sitemap.Ref{URL: site.SitemapURL})
	if err != nil {
		t.Fatal(err)
	}
	err = s.List(ctx, l, now, file, func(put func(sitemap.Entry) error) (bool, error) {
		for _, p := range []string{"1", "2", "3", "4", "5"} {
			if err := put(sitemap.Entry{Loc: "http://127.0.0.1:18091/p" + p + ".html"}); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Detect(ctx, l, state.Rules{Now: now, Whole: true})
	if want := (state.Detected{Silent: 1, Listed: 5}); err != nil || d != want {
		t.Errorf("Detect = %+v, %v, want %+v", d, err, want)
	}
	due, total, err := s.Due(ctx, l.Site.ID, now, 10, true)
	if err != nil || total != 1 || due[0].Attempts != 1 || due[0].URL != "http://127.0.0.1:18091/p4.html" {
		t.Fatalf("Due = %+v, %d, %v, want the page that failed", due, total, err)
	}
	if v, err := s.SavePage(ctx, l, now, due[0], page.Meta{Title: "Page 4", Published: now}); v != state.Published || err != nil {
		t.Errorf("SavePage = %v, %v", v, err)
	}
	window, err := s.Window(ctx, l.Site.ID, 10)
	var titles []string
	for _, i := range window {
		titles = append(titles, i.Title)
	}
	if diff := cmp.Diff([]string{"Page 4", "Page 3", "Page 2", "Page 1"}, titles); err != nil || diff != "" {
		t.Errorf("Window: %v (-want +got)\n%s", err, diff)
	}
	if err := s.End(ctx, l, now, state.OK, struct{}{}, nil); err != nil {
		t.Error(err)
	}
}
