package collector_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// C-E1: nine sources in ten have no fetcher. They have never been fetched, so they would come
// first.
func TestParkedTypesStarveNobody(t *testing.T) {
	w := newWorld(t)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for i := range 90 {
			typ := fetchers.Unfetched[i%len(fetchers.Unfetched)]
			if _, err := tx.AddSource(ctx, store.Source{Name: "x", Type: typ}); err != nil {
				return err
			}
		}
		return nil
	})
	var due []int64
	for range 10 {
		w.clock.add(time.Second)
		due = append(due, w.add("rss", ""))
	}
	c := w.collector(func(c *collector.Config) { c.Settings.Concurrency = 2 })
	for range 3 {
		w.once(c)
	}
	if got := w.fakes["rss"].total(); got != len(due) {
		t.Errorf("%d fetches, want %d", got, len(due))
	}
	if got := w.log.count("no fetcher for a source type"); got != len(fetchers.Unfetched) {
		t.Errorf("%d warnings, want one for each of %d types", got, len(fetchers.Unfetched))
	}
	st, err := c.Status(t.Context())
	if err != nil || st.Stats.ParkedSources != 90 || st.Stats.DueSources != 0 || st.Stats.Errors24h != 0 {
		t.Errorf("%v, stats: %+v; want 90 parked, none due and no errors", err, st.Stats)
	}
}

// C-E3: the ways to resume a paused source.
func TestResume(t *testing.T) {
	for _, err := range []error{errFake, &fetch.StatusError{Code: 410}} {
		w := newWorld(t)
		id := w.add("rss", "")
		w.sql(`UPDATE sources SET consecutive_errors = 4`)
		w.fakes["rss"].set(fetchers.Result{}, err)
		c := w.collector()
		w.once(c)
		if w.state(id).Active {
			t.Fatalf("%v: not paused", err)
		}
		w.fakes["rss"].set(listing("a"), nil)
		if err := c.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.once(c)
		if s := w.state(id); !s.Active || s.Failures != 0 || s.FetchCount != 1 || s.LastError != "" || s.Gone || !s.PausedAt.IsZero() {
			t.Errorf("%v: after Resume: %+v", err, s)
		}
	}
}

func TestProbe(t *testing.T) {
	for _, tt := range []struct {
		name  string
		probe time.Duration
		err   error
		hand  bool // paused by hand after a pause for failures
		want  int  // fetches within a day
	}{
		{"off", 0, errFake, false, 1},
		{"on", 12 * time.Hour, errFake, false, 2},
		{"gone", 12 * time.Hour, &fetch.StatusError{Code: 410}, false, 1},
		{"by hand", 12 * time.Hour, errFake, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			id := w.add("rss", "")
			w.sql(`UPDATE sources SET consecutive_errors = 4`)
			w.fakes["rss"].set(fetchers.Result{}, tt.err)
			c := w.collector(func(c *collector.Config) { c.Settings.Probe = tt.probe })
			for hour := range 24 {
				w.once(c)
				if tt.hand && hour == 1 {
					w.write(func(ctx context.Context, tx *store.Tx) error { return tx.PauseSource(ctx, id) })
				}
				w.clock.add(time.Hour)
			}
			if got := w.fakes["rss"].total(); got != tt.want {
				t.Fatalf("%d fetches in a day, want %d", got, tt.want)
			}
			if tt.want == 1 {
				return
			}
			w.fakes["rss"].set(listing("a"), nil)
			w.clock.add(24 * time.Hour)
			w.once(c)
			if s := w.state(id); !s.Active || s.Failures != 0 {
				t.Errorf("a probe that worked did not bring it back: %+v", s)
			}
		})
	}
}

func TestRestartKeepsTimers(t *testing.T) {
	w := newWorld(t)
	w.add("rss", "")
	failing := w.add("hackernews", "")
	w.fakes["hackernews"].set(fetchers.Result{}, errFake)
	w.once(w.collector())
	before := w.state(failing)
	for range 3 {
		w.clock.add(time.Minute)
		w.once(w.collector()) // a new collector each time
	}
	if rss, hn := w.fakes["rss"].total(), w.fakes["hackernews"].total(); rss != 1 || hn != 1 {
		t.Errorf("%d and %d fetches, want 1 and 1", rss, hn)
	}
	if diff := cmp.Diff(before, w.state(failing)); diff != "" {
		t.Errorf("a restart changed the back-off:\n%s", diff)
	}
}
