package collector_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// A collection with a clock that is a month ahead does not stop later ones, and is noticed.
func TestWrongClockStopsNothing(t *testing.T) {
	const month = 30 * 24 * time.Hour
	w := newWorld(t)
	ok, failed, claimed := w.add("rss", ""), w.add("hackernews", ""), w.add("website", "")
	w.fakes["rss"].set(listing("a"), nil)
	w.fakes["hackernews"].set(listing(), errFake)
	w.clock.add(month)
	if _, err := w.db.ClaimSource(t.Context(), claimed, "killed", 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	c := w.collector()
	w.once(c)
	w.clock.add(-month)

	// Now the clock is right.
	health := func(want collector.Health) {
		t.Helper()
		got, err := c.Health(t.Context())
		if diff := cmp.Diff(want.Status, got.Status); err != nil || diff != "" || got.FutureSources != want.FutureSources || got.InFlight != 0 {
			t.Errorf("%+v, %v; want %q with %d future sources, and none in flight", got, err, want.Status, want.FutureSources)
		}
	}
	health(collector.Health{Status: "clock", FutureSources: 3})
	st, err := c.Status(t.Context())
	if err != nil || st.Stats.FutureSources != 3 || st.Stats.DueSources != 3 || st.Stats.Fetches24h != 0 {
		t.Errorf("%+v, %v; want 3 due sources with future times", st.Stats, err)
	}
	for _, s := range st.Sources {
		if s.NextFetchAt != nil || s.Status == "fetching" {
			t.Errorf("%s is %s until %v, a time that is ignored", s.Name, s.Status, s.NextFetchAt)
		}
	}
	w.once(c)
	health(collector.Health{Status: "ok"})
	for _, id := range []int64{ok, failed, claimed} {
		if s := w.state(id); s.NextFetchAt.After(noon.Add(24*time.Hour)) || s.ClaimedUntil.After(noon) || s.LastFetchedAt.After(noon) {
			t.Errorf("source %d still has times in the future: %+v", id, s)
		}
	}
	items, err := w.db.Items(t.Context(), []int64{ok}, noon.Add(-time.Hour), noon.Add(time.Hour), 10)
	if err != nil || len(items) != 1 {
		t.Errorf("%d items, %v; want the one that was fetched in the future", len(items), err)
	}
	if n := w.fakes["rss"].total() + w.fakes["hackernews"].total() + w.fakes["website"].total(); n != 5 {
		t.Errorf("%d fetches, want 2 by each collection, and one of the source that was claimed", n)
	}
	w.once(c)
	if n := w.fakes["rss"].total(); n != 2 {
		t.Errorf("%d fetches of a source that was due once", n-1)
	}
}

// Times within the longest wait are respected: an origin may ask for a day, a failure may
// wait a day, an interval may be a month, and a lease is valid until it expires.
func TestLongWaitsAreBelieved(t *testing.T) {
	w := newWorld(t)
	slow := w.add("rss", `{"url":"https://a.example/","fetch_interval_minutes":43200}`)
	late := w.add("hackernews", "")
	paused := w.add("mastodon", "")
	c := w.collector(func(c *collector.Config) { c.Settings.Probe = 48 * time.Hour })
	w.once(c)
	at := func(d time.Duration) int64 { return noon.Add(d).UnixMilli() }
	w.sql(`UPDATE sources SET next_fetch_at = ?, backoff_until = ?1, consecutive_errors = 3 WHERE id = ?`, at(schedule.MaxRetry), late)
	w.sql(`UPDATE sources SET next_fetch_at = ?, backoff_until = ?1, is_active = 0, paused_at = 1 WHERE id = ?`, at(schedule.Policy{Probe: 1}.Longest(true)), paused)
	w.once(c)
	for _, typ := range []string{"rss", "hackernews", "mastodon"} {
		if n := w.fakes[typ].total(); n != 1 {
			t.Errorf("%d fetches of %s, want 1: it is not due", n, typ)
		}
	}
	if s := w.state(slow); s.NextFetchAt != noon.Add(30*24*time.Hour) {
		t.Errorf("it is due at %v, want a month from now", s.NextFetchAt)
	}
	if h, err := c.Health(t.Context()); err != nil || h.Status != "ok" || h.FutureSources != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	// Later times are ignored.
	w.sql(`UPDATE sources SET next_fetch_at = next_fetch_at + 1000`)
	w.once(c)
	for _, typ := range []string{"rss", "hackernews", "mastodon"} {
		if n := w.fakes[typ].total(); n != 2 {
			t.Errorf("%d fetches of %s, want 2: its time is ignored", n, typ)
		}
	}
}

// A lease is valid until it expires. This also holds for ClaimSource.
func TestLeaseOfTheFuture(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	l, err := w.db.ClaimSource(t.Context(), id, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.ClaimSource(t.Context(), id, "b", time.Minute); err != store.ErrClaimed { //nolint:errorlint // nothing wraps it
		t.Errorf("ClaimSource = %v, want ErrClaimed", err)
	}
	w.clock.add(-time.Hour) // the lease now ends in 61 minutes, longer than any lease
	if _, err := w.db.ClaimSource(t.Context(), id, "b", time.Minute); err != nil {
		t.Errorf("ClaimSource = %v although no lease lasts that long", err)
	}
	if _, err := w.db.FinishFetch(t.Context(), l, store.Fetched{Started: noon}); err != store.ErrLeaseLost { //nolint:errorlint // nothing wraps it
		t.Errorf("FinishFetch = %v, want ErrLeaseLost", err)
	}
}
