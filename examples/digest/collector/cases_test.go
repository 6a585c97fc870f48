package collector_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/twofold-go/twofold/examples/digest/api"

	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// The acceptance cases of document 002, by their numbers.
func TestDocument(t *testing.T) {
	for _, c := range []struct {
		number string
		test   func(t *testing.T)
	}{
		{"1 a source that was never fetched is fetched at once", neverFetchedFirst},
		{"2 to 6 a source is due by its type", dueByType},
		{"6 FETCH_INTERVAL_RSS of a new start", intervalsOfANewStart},
		{"7 a new source needs no restart", newSourceIsFound},
		{"8 a type without a fetcher is skipped", noFetcherIsSkipped},
		{"9 COLLECTOR_CONCURRENCY", concurrency},
		{"10 a failure concerns one source", failureIsOneSources},
		{"11 five failures pause a source", fiveFailuresPause},
		{"12 a stop waits for what is running", stopWaits},
		{"12 SIGTERM of a process", sigterm},
		{"13 to 15 the status over HTTP", statusOverHTTP},
		{"15 next_fetch_at", nextFetchAt},
		{"16 without variables", withoutVariables},
		{"17 --source", oneSource},
		{"18 COLLECTOR_INTERVAL", legacyInterval},
	} {
		t.Run(c.number, c.test)
	}
}

// statusOverHTTP needs the key, and has the names of both documented forms, but nothing of a config.
func statusOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.add("rss", `{"url":"https://e.com/?token=hidden"}`)
	w.fakes["rss"].set(listing("a"), nil)
	c := w.collector()
	w.once(c)
	h := api.New(api.Config{Store: w.db, Collector: c, Key: "k", Log: slog.New(slog.DiscardHandler)})
	for key, want := range map[string]int{"": 401, "Bearer x": 401, "Bearer k": 200} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/collector/status", http.NoBody)
		r.Header.Set("Authorization", key)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != want || strings.Contains(rec.Body.String(), "hidden") {
			t.Errorf("with %q: %d, want %d: %s", key, rec.Code, want, rec.Body)
		}
		for _, part := range []string{
			`"id":1`, `"name":"rss"`, `"type":"rss"`, `"interval_minutes":240`, `"last_fetched_at":"2026-02-25T12:00:00Z"`, `"next_fetch_at":"2026-02-25T16:00:00Z"`,
			`"fetch_count":1`, `"fetch_error_count":0`, `"last_error":null`, `"status":"ok"`, `"total_sources":1`, `"active_sources":1`, `"paused_sources":0`,
			`"paused_by_error":0`, `"fetches_24h":1`, `"errors_24h":0`, `"raw_items_24h":1`, `"items_24h":1`,
		} {
			if (want == 200) != strings.Contains(rec.Body.String(), part) {
				t.Errorf("with %q: %s in %s", key, part, rec.Body)
			}
		}
	}
}

func neverFetchedFirst(t *testing.T) {
	w := newWorld(t)
	w.fakes["rss"].set(listing("a"), nil)
	old := w.add("rss", `{"url":"https://a.example/"}`)
	w.fetchedAgo(old, 100*time.Hour)
	fresh := w.add("rss", `{"url":"https://b.example/"}`)
	var order []string
	w.fakes["rss"].do = func(_ context.Context, s fetchers.Source) (fetchers.Result, error) {
		order = append(order, string(s.Config))
		return listing("a"), nil
	}
	w.once(w.collector(func(c *collector.Config) { c.Settings.Concurrency = 1 }))
	if got := w.state(fresh).LastFetchedAt; !got.Equal(noon) {
		t.Errorf("the source that was never fetched was last fetched at %v, want now", got)
	}
	if diff := cmp.Diff([]string{`{"url":"https://b.example/"}`, `{"url":"https://a.example/"}`}, order); diff != "" {
		t.Errorf("never fetched first (-want +got):\n%s", diff)
	}
}

// Cases 2 to 6: when a source is due, even if its row has only the time of the last fetch.
func dueByType(t *testing.T) {
	hour := map[string]string{"RSS": "60"}
	for _, tt := range []struct {
		name, typ string
		ago       time.Duration
		env       map[string]string
		want      int
	}{
		{"Case02 RSS after 3h", "rss", 3 * time.Hour, nil, 0},
		{"Case03 RSS after 5h", "rss", 5 * time.Hour, nil, 1},
		{"Case04 HN after 50min", "hackernews", 50 * time.Minute, nil, 0},
		{"Case05 HN after 70min", "hackernews", 70 * time.Minute, nil, 1},
		{"Case06 FETCH_INTERVAL_RSS=60 before the hour", "rss", 59 * time.Minute, hour, 0},
		{"Case06 FETCH_INTERVAL_RSS=60 after an hour", "rss", time.Hour, hour, 1},
		{"Case06 others keep theirs", "website", 61 * time.Minute, hour, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.fetchedAgo(w.add(tt.typ, ""), tt.ago)
			w.once(w.collector(func(c *collector.Config) { c.Settings.Intervals = intervals(t, tt.env) }))
			if got := w.fakes[tt.typ].total(); got != tt.want {
				t.Errorf("fetched %d times, want %d", got, tt.want)
			}
		})
	}
}

// A start with another interval reschedules sources that an earlier start has scheduled.
func intervalsOfANewStart(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	w.once(w.collector())
	w.clock.add(time.Hour)
	w.once(w.collector())
	if got := w.fakes["rss"].total(); got != 1 {
		t.Fatalf("fetched %d times within 4 h, want once", got)
	}
	w.once(w.collector(func(c *collector.Config) { c.Settings.Intervals = intervals(t, map[string]string{"RSS": "60"}) }))
	if got := w.fakes["rss"].total(); got != 2 {
		t.Errorf("fetched %d times, want another time with an interval of 1 h", got)
	}
	w.once(w.collector()) // back to the old interval
	if got, want := w.state(id).NextFetchAt, noon.Add(5*time.Hour); !got.Equal(want) {
		t.Errorf("next at %v, want %v", got, want)
	}
}

func newSourceIsFound(t *testing.T) {
	w := newWorld(t)
	w.add("rss", "")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := w.collector(func(c *collector.Config) { c.Settings.Tick = 5 * time.Millisecond })
	go func() { done <- c.Run(ctx, nil) }()
	w.eventually("the first source is fetched", func() bool { return w.fakes["rss"].total() == 1 })
	w.add("hackernews", "") // added without Tell
	w.eventually("the second one is fetched", func() bool { return w.fakes["hackernews"].total() == 1 })
	stop()
	if err := w.result(done); err != nil {
		t.Error(err)
	}
}

func noFetcherIsSkipped(t *testing.T) {
	w := newWorld(t)
	id := w.add("twitter_feed", `{"handle":"x"}`)
	c := w.collector()
	got, err := c.CollectSource(t.Context(), id)
	want := collector.Report{SourceID: id, Name: "twitter_feed", Type: "twitter_feed", Skipped: true, Reason: "no fetcher for type twitter_feed"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	w.once(c)
	if s := w.state(id); s.ErrorCount != 0 || s.LastError != "" || !s.ClaimedUntil.IsZero() {
		t.Errorf("it counts as an error: %+v", s)
	}
}

func concurrency(t *testing.T) {
	w := newWorld(t)
	for range 10 {
		w.clock.add(time.Millisecond) // so that each has its own host
		w.add("rss", "")
	}
	three, release := make(chan struct{}, 10), make(chan struct{})
	w.fakes["rss"].do = func(context.Context, fetchers.Source) (fetchers.Result, error) {
		three <- struct{}{}
		<-release
		return listing("a"), nil
	}
	done := make(chan error, 1)
	c := w.collector(func(c *collector.Config) { c.Settings.Concurrency = 3 })
	go func() { done <- c.RunOnce(t.Context(), nil) }()
	for range 3 {
		w.wait(three)
	}
	close(release)
	if err := w.result(done); err != nil {
		t.Error(err)
	}
	if f := w.fakes["rss"]; f.total() != 10 || f.most != 3 {
		t.Errorf("%d fetches, %d at a time; want 10 and 3", f.total(), f.most)
	}
}

func failureIsOneSources(t *testing.T) {
	w := newWorld(t)
	bad, good := w.add("rss", ""), w.add("hackernews", "")
	panics := w.add("website", "")
	w.fakes["rss"].set(fetchers.Result{}, &fetch.StatusError{URL: "https://e.com/", Code: 500})
	w.fakes["hackernews"].set(listing("a"), nil)
	w.fakes["website"].do = func(context.Context, fetchers.Source) (fetchers.Result, error) { panic("secret") }
	w.once(w.collector())
	if s := w.state(bad); s.ErrorCount != 1 || s.Failures != 1 || s.LastError != "fetch: https://e.com/: 500 Internal Server Error" || !s.LastFetchedAt.IsZero() || !s.Active {
		t.Errorf("the one that failed: %+v", s)
	}
	if s := w.state(panics); s.Failures != 1 || s.LastError != "the fetcher panicked with a string" {
		t.Errorf("the one that panicked: %+v", s)
	}
	if s := w.state(good); s.FetchCount != 1 || len(w.items(good)) != 1 {
		t.Errorf("the other one: %+v", s)
	}
}

func fiveFailuresPause(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	w.fakes["rss"].set(fetchers.Result{}, errFake)
	c := w.collector()
	var waits []time.Duration
	for range 5 {
		w.once(c)
		s := w.state(id)
		waits = append(waits, s.BackoffUntil.Sub(w.clock.now()))
		if s.Active != (s.Failures < 5) {
			t.Errorf("after %d failures it is active: %v", s.Failures, s.Active)
		}
		w.once(c) // C-E3: a failure is not due again at the next tick
		if got := w.state(id).Failures; got != s.Failures {
			t.Fatalf("tried again at once after failure %d", got)
		}
		w.clock.add(waits[len(waits)-1])
	}
	if diff := cmp.Diff([]time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour}, waits); diff != "" {
		t.Errorf("back-off with half the dice (-want +got):\n%s", diff)
	}
	w.clock.add(1000 * time.Hour)
	w.once(c)
	s := w.state(id)
	if s.Failures != 5 || s.Active || s.PausedAt.IsZero() || s.LastError != "the fetch failed" {
		t.Errorf("a paused source: %+v", s)
	}
	if c.StatusOf(s) != "paused_by_error" || c.SourceStatus(s).NextFetchAt != nil {
		t.Errorf("its status: %+v", c.SourceStatus(s))
	}
	if w.log.count("secret") > 0 || w.log.count("source paused") != 1 {
		t.Errorf("the log:\n%s", w.log.b.String())
	}
}

// Within the process; sigterm uses another one.
func stopWaits(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	started, release := make(chan struct{}), make(chan struct{})
	w.fakes["rss"].do = func(context.Context, fetchers.Source) (fetchers.Result, error) {
		close(started)
		<-release
		return listing("a"), nil
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := w.collector()
	go func() { done <- c.Run(ctx, nil) }()
	w.wait(started)
	stop()
	late := w.add("hackernews", "")
	close(release)
	if err := w.result(done); err != nil {
		t.Error(err)
	}
	if s := w.state(id); s.FetchCount != 1 || !s.ClaimedUntil.IsZero() || len(w.items(id)) != 1 {
		t.Errorf("the running fetch: %+v", s)
	}
	if s := w.state(late); s.FetchCount != 0 {
		t.Error("it went on claiming")
	}
}

// C-E5: exact to the millisecond and without jitter, at any time and for any duration of
// the fetch, unless the origin asks for a longer wait.
func nextFetchAt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config string
		fresh  time.Duration
		want   time.Duration // 0: the origin's
	}{
		{"type", `{"url":"https://e.com/"}`, 0, 4 * time.Hour},
		{"own interval", `{"url":"https://e.com/","fetch_interval_minutes":45}`, 0, 45 * time.Minute},
		{"origin asks for less", `{"url":"https://e.com/"}`, time.Hour, 4 * time.Hour},
		{"origin asks for more", `{"url":"https://e.com/"}`, 6 * time.Hour, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.clock.add(123456789 * time.Nanosecond)
			id := w.add("rss", tt.config)
			w.fakes["rss"].do = func(context.Context, fetchers.Source) (fetchers.Result, error) {
				w.clock.add(17 * time.Second)
				return fetchers.Result{FreshFor: tt.fresh}, nil
			}
			c := w.collector()
			w.once(c)
			st, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s := st.Sources[0]
			want := s.LastFetchedAt.Add(time.Duration(s.IntervalMinutes) * time.Minute)
			if tt.want == 0 {
				want = w.state(id).NotBefore
			} else if s.IntervalMinutes != int64(tt.want/time.Minute) {
				t.Errorf("interval %d minutes, want %v", s.IntervalMinutes, tt.want)
			}
			if !s.NextFetchAt.Equal(want) {
				t.Errorf("next at %v, want %v", s.NextFetchAt, want)
			}
			w.clock.add(want.Sub(w.clock.now()) - 10*time.Second)
			if w.once(c); w.fakes["rss"].total() != 1 {
				t.Error("fetched before it was due")
			}
			w.clock.add(10 * time.Second)
			if w.once(c); w.fakes["rss"].total() != 2 {
				t.Error("not fetched when it was due")
			}
		})
	}
}

func withoutVariables(t *testing.T) {
	got, err := collector.SettingsFrom(map[string]string{"PATH": "/bin"}, nil)
	if diff := cmp.Diff(collector.Settings{}, got, cmp.Comparer(sameIntervals)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if collector.DefaultTick != time.Minute || collector.DefaultConcurrency != 5 {
		t.Error("the defaults are not those of the document")
	}
}

// The start log names the interval of each type.
func TestStartNamesIntervals(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := w.collector(func(c *collector.Config) {
		c.Settings.Intervals = schedule.Intervals{"rss": 2 * time.Hour, "mine": time.Minute}
	})
	if err := c.Run(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rss:2h0m0s", "mine:1m0s", "twitter_feed:30m0s", "default:4h0m0s"} {
		if w.log.count(want) != 1 {
			t.Errorf("the log does not name %s", want)
		}
	}
}

func oneSource(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	c := w.collector()
	w.fakes["rss"].set(listing("a"), nil)
	w.once(c)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.PauseSource(ctx, id) })
	w.fakes["rss"].set(listing("a", "b"), nil)
	got, err := c.CollectSource(t.Context(), id) // neither due nor active
	want := collector.Report{SourceID: id, Name: "rss", Type: "rss", Fetched: 2, New: 1}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if w.state(id).Active {
		t.Error("a fetch ended a pause by hand")
	}
	if _, err := c.CollectSource(t.Context(), 99); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such source: %v", err)
	}
	if _, err := w.db.ClaimSource(t.Context(), id, "somebody", time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CollectSource(t.Context(), id); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("another fetch is running: %v", err)
	}
}

func legacyInterval(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want time.Duration
	}{
		{map[string]string{"COLLECTOR_INTERVAL": "300"}, 5 * time.Minute},
		{map[string]string{"COLLECTOR_TICK": "30"}, 30 * time.Second},
		{map[string]string{"COLLECTOR_TICK": "30", "COLLECTOR_INTERVAL": "300"}, 30 * time.Second},
		{map[string]string{"COLLECTOR_TICK": "", "COLLECTOR_INTERVAL": "300"}, 5 * time.Minute},
		{nil, 0},
	} {
		if got, err := collector.SettingsFrom(tt.env, nil); err != nil || got.Tick != tt.want {
			t.Errorf("SettingsFrom(%v): tick %v, %v; want %v", tt.env, got.Tick, err, tt.want)
		}
	}
}
