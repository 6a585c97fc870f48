package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/store"
)

func (w *world) cached(hash, state string, end, expires time.Time) {
	w.t.Helper()
	w.exec(`INSERT INTO digest_cache (subscription_hash, sources_hash, digest_type, period_start, period_end,
		state, content, source_ids, created_at, expires_at) VALUES (?, ?, 'daily', ?, ?, ?, ?, '[1,2]', 0, ?)`,
		hash, "sources of "+hash, end.AddDate(0, 0, -1).UnixMilli(), end.UnixMilli(), state, "of "+hash, expires.UnixMilli())
}

// Times are numbers. As text, a row that expired at midnight would still be valid at ten:
// 'T' > ' '.
func TestCleanCacheByTheClock(t *testing.T) {
	w := newWorld(t, 0)
	midnight := time.Date(2026, time.February, 25, 0, 0, 0, 0, time.UTC)
	w.cached("midnight", store.StateReady, midnight, midnight)
	w.cached("noon", store.StateReady, midnight, noon)
	w.cached("ten", store.StateReady, midnight, midnight.Add(10*time.Hour)) // the time of the cleaning
	w.cached("later", store.StateEmpty, midnight, noon.Add(time.Millisecond))
	w.clock.Set(midnight.Add(10 * time.Hour))
	for _, want := range []int64{2, 0} {
		w.write(func(ctx context.Context, tx *store.Tx) error {
			if n, err := tx.CleanCache(ctx); err != nil || n != want {
				t.Errorf("CleanCache = %d, %v; want %d", n, err, want)
			}
			return nil
		})
	}
	w.clock.Set(noon)
	s, err := w.CacheStats(t.Context())
	want := store.CacheStats{Total: 1, UniqueHashes: 1, ByType: map[string]int64{"daily": 1}}
	if diff := cmp.Diff(want, s); err != nil || diff != "" {
		t.Errorf("CacheStats: %v %s", err, diff)
	}
}

func TestCacheRows(t *testing.T) {
	w := newWorld(t, 0)
	day := func(n int) time.Time { return time.Date(2026, time.February, 20+n, 0, 0, 0, 0, time.UTC) }
	for n := range 3 {
		w.cached("h", store.StateReady, day(n), noon.AddDate(0, 0, n-1)) // the first has expired
	}
	w.cached("h", store.StateEmpty, day(3), noon.AddDate(0, 0, 9))
	for n, want := range []string{"", "", "of h", "of h", ""} {
		row, err := w.CacheRow(t.Context(), "h", "daily", day(n-1), day(n))
		if (err == nil) != (want != "") || row.Content != want {
			t.Errorf("row of day %d: %q, %v; want %q", n, row.Content, err, want)
		}
	}
	// Another end means another period, even with the same start.
	if _, err := w.CacheRow(t.Context(), "h", "daily", day(1), day(3)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("row of another end = %v, want %v", err, store.ErrNotFound)
	}
}

func TestDeleteCache(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, time.February, 20+n, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		sel  store.CacheSelection
		want int
	}{
		{store.CacheSelection{}, 0},
		{store.CacheSelection{Hash: "h"}, 3},
		{store.CacheSelection{Hash: "sources of h"}, 3},
		{store.CacheSelection{Hash: "sources of"}, 0},
		{store.CacheSelection{Before: day(2)}, 4},
		{store.CacheSelection{Before: day(2).Add(-1)}, 2},
		{store.CacheSelection{All: true}, 6},
	} {
		w := newWorld(t, 0)
		for n := range 3 {
			w.cached("h", store.StateReady, day(n+1), noon)
			w.cached("g", store.StateEmpty, day(n+1), noon)
		}
		w.write(func(ctx context.Context, tx *store.Tx) error {
			if rows, err := tx.DeleteCache(ctx, tt.sel); err != nil || len(rows) != tt.want {
				t.Errorf("%+v selects %d rows, %v; want %d", tt.sel, len(rows), err, tt.want)
			}
			return nil
		})
		writer, _ := w.Pools()
		var left int
		if err := writer.QueryRowContext(t.Context(), `SELECT count(*) FROM digest_cache`).Scan(&left); err != nil || left != 6-tt.want {
			t.Errorf("%+v leaves %d rows, %v; want %d", tt.sel, left, err, 6-tt.want)
		}
	}
}
