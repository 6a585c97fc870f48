package collector_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
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

// A claim does not read the rows of parked sources.
func TestDueIsFoundByAnIndex(t *testing.T) {
	w := newWorld(t)
	_, readers := w.db.Pools()
	rows, err := readers.QueryContext(t.Context(), `EXPLAIN QUERY PLAN SELECT id FROM sources s
		WHERE s.is_deleted = 0 AND s.gone = 0 AND s.type IN (SELECT value FROM json_each(?1)) AND (coalesce(s.next_fetch_at, 0) > ?2 OR coalesce(s.next_fetch_at, 0) <= ?2)`, `["rss"]`, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail + "\n")
	}
	if err := rows.Err(); err != nil || !strings.Contains(plan.String(), "SEARCH s USING INDEX sources_due_type (type=?)") {
		t.Errorf("%v, plan:\n%s", err, plan.String())
	}
}

// C-E2: a source of a type that is not in the table is fetched again too.
func TestUnknownTypeIsDueAgain(t *testing.T) {
	w := newWorld(t)
	w.add("mastodon", "")
	c := w.collector()
	for i, want := range []int{1, 1, 2} {
		w.once(c)
		if got := w.fakes["mastodon"].total(); got != want {
			t.Errorf("after %d h: %d fetches, want %d", 2*i, got, want)
		}
		w.clock.add(2 * time.Hour)
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

func TestFetchingAPausedSourceBringsItBack(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	w.sql(`UPDATE sources SET is_active = 0, paused_at = 1, gone = 1, consecutive_errors = 5`)
	c := w.collector()
	if r, err := c.CollectSource(t.Context(), id); err != nil || r.Error != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if s := w.state(id); !s.Active || s.Gone || !s.PausedAt.IsZero() || s.Failures != 0 {
		t.Errorf("%+v", s)
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

// A source that was paused by hand is never probed.
func TestPausedByHandIsNeverProbed(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.PauseSource(ctx, id) })
	w.fakes["rss"].set(fetchers.Result{}, errFake)
	c := w.collector(func(c *collector.Config) { c.Settings.Probe = time.Hour })
	w.sql(`UPDATE sources SET consecutive_errors = 4 WHERE id = ?`, id)
	if _, err := c.CollectSource(t.Context(), id); err != nil { // the fetch fails
		t.Fatal(err)
	}
	w.clock.add(1000 * time.Hour)
	if w.once(c); w.fakes["rss"].total() != 1 || !w.state(id).PausedAt.IsZero() {
		t.Errorf("it was probed: %+v", w.state(id))
	}
}

// C-E6, also for hosts: neither a slow source nor a host with many slow sources delays the others.
func TestSlowSourceDelaysNoOther(t *testing.T) {
	w := newWorld(t)
	for i := range 8 {
		w.add("rss", fmt.Sprintf(`{"url":"https://slow.example/%d"}`, i))
	}
	for i := range 20 {
		w.add("hackernews", fmt.Sprintf(`{"url":"https://h%d.example/"}`, i))
	}
	release := make(chan struct{})
	w.fakes["rss"].do = func(context.Context, fetchers.Source) (fetchers.Result, error) {
		<-release
		return listing("a"), nil
	}
	done := make(chan error, 1)
	c := w.collector(func(c *collector.Config) { c.Settings.Concurrency, c.Settings.PerHost = 3, 2 })
	go func() { done <- c.RunOnce(t.Context(), nil) }()
	w.eventually("the others are fetched meanwhile", func() bool { return w.fakes["hackernews"].total() == 20 })
	if got := w.fakes["rss"].total(); got != 2 {
		t.Errorf("%d fetches of one host at a time, want 2", got)
	}
	close(release)
	if err := w.result(done); err != nil {
		t.Error(err)
	}
	if f := w.fakes["rss"]; f.total() != 8 || f.most != 2 {
		t.Errorf("%d fetches of the slow host, %d at a time; want 8 and 2", f.total(), f.most)
	}
}

// C-E9: a type is an argument, not a part of the SQL text.
func TestTypeNamesAreArguments(t *testing.T) {
	w := newWorld(t)
	const evil = `x'] ) OR 1=1 --"`
	w.fakes[evil] = &fake{}
	id := w.add(evil, `{"url":"https://e.com/"}`)
	w.add("twitter_list", "{}")
	c := w.collector()
	w.once(c)
	if got := w.fakes[evil].total(); got != 1 || w.state(id).FetchCount != 1 {
		t.Errorf("%d fetches, want 1", got)
	}
	if st, err := c.Status(t.Context()); err != nil || st.Stats.ParkedSources != 1 {
		t.Errorf("%v, %+v", err, st.Stats)
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

// A tick that comes a little early finds a source that is due a moment later. Otherwise an interval
// of one tick would become two. Back-offs and the origin's waits are not shortened.
func TestTickSkew(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", `{"url":"https://e.com/","fetch_interval_minutes":1}`)
	c := w.collector()
	for i := range 5 {
		if w.once(c); w.fakes["rss"].total() != i+1 {
			t.Fatalf("tick %d: %d fetches", i, w.fakes["rss"].total())
		}
		w.clock.add(time.Minute - 20*time.Millisecond)
	}
	w.fakes["rss"].set(fetchers.Result{FreshFor: 10 * time.Minute}, nil)
	w.once(c)
	w.clock.add(10*time.Minute - 20*time.Millisecond)
	if w.once(c); w.fakes["rss"].total() != 6 {
		t.Error("an origin that asked for ten minutes was given less")
	}
	w.clock.add(time.Minute)
	w.fakes["rss"].set(fetchers.Result{}, errFake)
	w.once(c)
	w.clock.add(w.state(id).BackoffUntil.Sub(w.clock.now()) - 20*time.Millisecond)
	if w.once(c); w.fakes["rss"].total() != 7 {
		t.Error("a back-off was cut short")
	}
}

// An invalid interval of a source is logged once, and the interval of its type applies.
func TestWrongOwnInterval(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", `{"url":"https://e.com/","fetch_interval_minutes":"15abc"}`)
	c := w.collector()
	w.once(c)
	w.once(c)
	if s := w.state(id); !s.NextFetchAt.Equal(noon.Add(4*time.Hour)) || w.log.count("fetch_interval_minutes") != 1 {
		t.Errorf("next at %v, log:\n%s", s.NextFetchAt, w.log.b.String())
	}
}

// A source with a changed config gets its new interval, counted from its last fetch.
func TestOwnIntervalChanges(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	c := w.collector()
	w.once(c)
	w.sql(`UPDATE sources SET config = json_set(config, '$.fetch_interval_minutes', 30)`)
	c.Tell(t.Context(), id)
	w.clock.add(29 * time.Minute)
	w.once(c)
	if got := w.state(id).NextFetchAt; !got.Equal(noon.Add(30*time.Minute)) || w.fakes["rss"].total() != 1 {
		t.Errorf("next at %v after %d fetches, want in a minute", got, w.fakes["rss"].total())
	}
}

// Sources are rescheduled once, however often sources are claimed afterwards.
func TestIntervalsAreBroughtIntoLineOnce(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.fetchedAgo(w.add("rss", ""), 5*time.Hour)
	}
	var tiers *cache.Tiers
	w.once(w.collector(func(c *collector.Config) { tiers, c.Settings.Concurrency = c.Tiers, 1 }))
	if got := tiers.Stats().Total.Loads.Calls; got != 1 || w.fakes["rss"].total() != 3 {
		t.Errorf("%d fetches, the list of sources was reviewed %d times, want once", w.fakes["rss"].total(), got)
	}
}

func TestMovedForGood(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", `{"url":"https://old.example/","keep":1}`)
	c := w.collector()
	step := func(to string) {
		t.Helper()
		w.fakes["rss"].set(fetchers.Result{MovedTo: to}, nil)
		w.clock.add(4 * time.Hour)
		w.once(c)
	}
	for _, to := range []string{"https://a.example/", "https://a.example/", "", "https://b.example/", "https://a.example/", "https://a.example/"} {
		step(to)
		if got := string(w.state(id).Config); !strings.Contains(got, "old.example") {
			t.Fatalf("adopted %s", got)
		}
	}
	step("https://a.example/")
	const moved = `{"url":"https://a.example/","keep":1,"moved_from":"https://old.example/"}`
	if got := string(w.state(id).Config); got != moved || w.log.count("source moved") != 1 {
		t.Errorf("after three fetches in a row that were sent to a.example: %s", got)
	}
	w.clock.add(4 * time.Hour)
	w.once(c)
	if got := w.fakes["rss"].calls[moved]; got == 0 {
		t.Error("the new address is not used")
	}
}
