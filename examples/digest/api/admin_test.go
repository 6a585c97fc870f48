package api_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/api"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/store"
)

func TestNoKeyIsNoKey(t *testing.T) {
	w := newWorld(t)
	w.cfg.Key = ""
	w.Handler = api.New(w.cfg)
	if rec := w.do("", "GET /api/collector/status", ""); rec.Code != 401 {
		t.Errorf("without a key anybody may look: %d", rec.Code)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/collector/status", http.NoBody)
	r.Header.Set("Authorization", "Bearer ")
	rec := httptest.NewRecorder()
	if w.ServeHTTP(rec, r); rec.Code != 401 {
		t.Errorf("the empty key is the operator's: %d", rec.Code)
	}
}

func TestStats(t *testing.T) {
	w := newWorld(t)
	w.subscribe(1, news)
	w.subscribe(2, news)
	for _, key := range []string{ann, bob} {
		w.call(key, "POST /api/digests", `{"type":"daily"}`, 200)
	}
	body := w.call(operator, "GET /api/digest-cache/stats", "", 200)
	w.wantIn(body, `"total":1`, `"unique_hashes":1`, `"by_type":{"daily":1}`, `"hit_rate":0.5`, `"llm_calls":1`, `"hits":1`, `"misses":1`, `"saved_usd":`)
	w.call("", "GET /api/digest-cache/stats", "", 401)
	w.call(ann, "GET /api/digest-cache/stats", "", 403)
}

// filled is a world with one cached digest, of one source and of yesterday.
func filled(t *testing.T) (w *world, hash string) {
	t.Helper()
	w = newWorld(t)
	w.subscribe(1, news)
	w.call(ann, "POST /api/digests", `{"type":"daily"}`, 200)
	return w, store.Hash([]int64{news})
}

func (w *world) wantCached(want int64) {
	w.t.Helper()
	if st, err := w.store.CacheStats(w.t.Context()); err != nil || st.Total != want {
		w.t.Errorf("%d digests in the cache, %v, want %d", st.Total, err, want)
	}
}

func TestDelete(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  int64
	}{
		{"", 1},
		{"?all=true", 1},
		{"?hash=HASH", 1},
		{"?hash=" + strings.Repeat("0", 64), 0},
		{"?before=2026-02-25", 1},
		{"?before=2026-02-24", 0},
		{"?before=2026-02-25T00:00:00Z", 1},
		{"?before=2026-02-24T23:59:59Z", 0},
	} {
		t.Run(tt.query, func(t *testing.T) {
			w, hash := filled(t)
			got := read[struct{ Deleted *int64 }](w, operator, "DELETE /api/admin/digest-cache"+strings.ReplaceAll(tt.query, "HASH", strings.ToUpper(hash)), "")
			if got.Deleted == nil || *got.Deleted != tt.want {
				t.Errorf("deleted %v, want %d", got.Deleted, tt.want)
			}
			w.wantCached(1 - tt.want)
			w.wantIn(w.log.String(), `cache deleted" actor="operator at 192.0.2.1`)
		})
	}
}

// D-E11: an invalid selection never means "all".
func TestDeleteIsNeverAllByMistake(t *testing.T) {
	w, hash := filled(t)
	for _, tt := range []struct{ query, body, names string }{
		{"?hsah=" + hash, "", "hsah"},
		{"?Hash=" + hash, "", "Hash"},
		{"?hash=", "", "hash"},
		{"?hash", "", "hash"},
		{"?before=", "", "before"},
		{"?all=", "", "all"},
		{"?all=false", "", "all"},
		{"?hash=abc", "", "hash"},
		{"?hash=" + strings.Repeat("g", 64), "", "hash"},
		{"?hash=" + hash + "&hash=" + hash, "", "hash"},
		{"?hash=" + hash + "&before=2026-02-25", "", "2 parameters"},
		{"?all=true&before=2026-02-25", "", "2 parameters"},
		{"?before=yesterday", "", "before"},
		{"?before=2026-02-30", "", "before"},
		{"?before=2026-02-25T00:00:00+08:00", "", "before"}, // a + in a query means a space
		{"?hash=" + hash + ";x", "", "query"},
		{"?%zz=1", "", "query"},
		{"", `{"hash":"` + hash + `"}`, "body"},
	} {
		body := w.call(operator, "DELETE /api/admin/digest-cache"+tt.query, tt.body, 400)
		w.wantIn(body, tt.names)
	}
	w.call("", "DELETE /api/admin/digest-cache", "", 401)
	w.call(ann, "DELETE /api/admin/digest-cache", "", 403)
	w.wantCached(1)
}

func TestHealth(t *testing.T) {
	w := newWorld(t)
	if err := w.coll.RunOnce(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if body := w.call("", "GET /healthz", "", 200); strings.Contains(body, "reason") {
		t.Errorf("a reason for being well: %s", body)
	}
	w.clock.Advance(4*time.Hour + 10*time.Minute)
	w.wantIn(w.call("", "GET /healthz", "", 200), `"status":"ok"`, `"due_sources":3`)
	w.clock.Advance(10 * time.Minute)
	w.wantIn(w.call("", "GET /healthz", "", 503), `"status":"stalled"`, `"oldest_due_lag_seconds":1200`,
		`"last_success_at":"2026-02-25T12:00:00Z"`, `"reason":"the collectors are late: 3 sources are due, one for 20m0s"`)
	w.fake.err = errors.New("hidden")
	for range 3 {
		w.clock.Advance(25 * time.Hour)
		if err := w.coll.RunOnce(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	w.wantIn(w.call("", "GET /healthz", "", 503), `"status":"failing"`, `"reason":"no new items: all 3 sources fail"`)
}

func TestPauseAndResume(t *testing.T) {
	w := newWorld(t)
	w.wantIn(w.call(operator, "POST /api/admin/sources/1/pause", "", 200), `"is_active":false`)
	w.call(operator, "POST /api/admin/sources/99/pause", "", 404)
	w.call(ann, "POST /api/admin/sources/1/pause", "", 403)
	w.wantIn(w.call("", "GET /api/sources", "", 200), `"is_active":false`)
	s := read[collector.SourceStatus](w, operator, "POST /api/admin/sources/1/resume", "")
	if s.ID != news || s.Status != "pending" {
		t.Errorf("after resume: %+v", s)
	}
	st := read[collector.Status](w, operator, "GET /api/collector/status", "")
	if slices.ContainsFunc(st.Sources, func(s collector.SourceStatus) bool { return s.Status == "paused" }) {
		t.Errorf("still paused: %+v", st.Sources)
	}
	w.call(operator, "POST /api/admin/sources/99/resume", "", 404)
	w.wantIn(w.call(operator, "POST /api/admin/sources/x/resume", "", 400), "id")
	w.call(ann, "POST /api/admin/sources/1/resume", "", 403)
}
