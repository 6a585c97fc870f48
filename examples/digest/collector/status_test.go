package collector_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

func TestStatus(t *testing.T) {
	w := newWorld(t)
	var c *collector.Collector
	ok, failing, parked, paused, gone, byHand := w.add("rss", ""), w.add("hackernews", ""), w.add("twitter_feed", "{}"), w.add("website", ""), w.add("mastodon", ""), w.add("rss", `{"url":"https://h.example/"}`)
	deleted := w.add("rss", "")
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.PauseSource(ctx, byHand), tx.DeleteSource(ctx, deleted))
	})
	w.fakes["rss"].set(listing("a", "b"), nil)
	w.fakes["hackernews"].set(fetchers.Result{}, &fetch.StatusError{URL: "https://e.com/", Code: 503, RetryAfter: 3 * time.Hour})
	w.fakes["website"].set(fetchers.Result{}, errFake)
	w.fakes["mastodon"].set(fetchers.Result{}, &fetch.StatusError{URL: "https://m.example/", Code: 410})
	c = w.collector()
	w.sql(`UPDATE sources SET consecutive_errors = 4 WHERE id = ?`, paused)
	w.sql(`INSERT INTO fetch_log (source_id, at, ok, items_new) VALUES (?, ?, 1, 99)`, ok, noon.Add(-25*time.Hour).UnixMilli())
	w.once(c)
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	words := map[int64]string{}
	for _, s := range st.Sources {
		words[s.ID] = s.Status
	}
	want := map[int64]string{ok: "ok", failing: "error", parked: "parked", paused: "paused_by_error", gone: "gone", byHand: "paused"}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	stats := collector.Stats{
		TotalSources: 6, ActiveSources: 3, PausedSources: 3, PausedByError: 1, GoneSources: 1, ParkedSources: 1,
		Fetches24h: 4, Errors24h: 3, RawItems24h: 2, Items24h: 2,
	}
	stats.Wanted, stats.Failing, stats.LastSuccess = 3, 1, noon
	if diff := cmp.Diff(stats, st.Stats); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	got, err := json.Marshal(st.Sources[1])
	const form = `{"id":2,"name":"hackernews","type":"hackernews","interval_minutes":60,"last_fetched_at":null,"next_fetch_at":"2026-02-25T15:00:00Z",` +
		`"fetch_count":0,"fetch_error_count":1,"last_error":"fetch: https://e.com/: 503 Service Unavailable","status":"error",` +
		`"consecutive_errors":1,"backoff_until":"2026-02-25T15:00:00Z","not_before":null,"paused_at":null}`
	if err != nil || string(got) != form {
		t.Errorf("%v\n got %s\nwant %s", err, got, form)
	}
}

func TestHealth(t *testing.T) {
	w := newWorld(t)
	w.add("rss", "")
	w.add("twitter_feed", "{}") // parked, so it is not a sign of a stall
	c := w.collector()
	w.once(c)
	for _, tt := range []struct {
		after time.Duration // since the last step
		want  collector.Health
	}{
		{time.Hour, collector.Health{Status: "ok", LastSuccessAt: &noon}},
		{3*time.Hour + 10*time.Minute, collector.Health{Status: "ok", OldestDueLagSeconds: 600, DueSources: 1, LastSuccessAt: &noon}},
		{10 * time.Minute, collector.Health{Status: "stalled", OldestDueLagSeconds: 1200, DueSources: 1, LastSuccessAt: &noon}},
	} {
		w.clock.add(tt.after)
		got, err := c.Health(t.Context())
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" || got.Stalled() != (tt.want.Status == "stalled") {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if _, _, err := w.db.ClaimDue(t.Context(), store.Claim{Owner: "x", For: time.Minute, Types: []string{"rss"}, Max: 1, PerHost: 1, HostOf: func(store.Source) string { return "" }}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Health(t.Context()); err != nil || got.InFlight != 1 || got.DueSources != 0 || got.Stalled() {
		t.Errorf("while it is being fetched: %+v, %v", got, err)
	}
	w.clock.add(time.Hour) // the claiming process was killed
	if got, err := c.Health(t.Context()); err != nil || !got.Stalled() {
		t.Errorf("after its collector died: %+v, %v", got, err)
	}
}
