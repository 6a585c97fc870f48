package api_test

import (
	"testing"
	"time"
)

// A fetch with a clock a month ahead shows in /healthz until the sources are fetched again.
func TestHealthAfterAWrongClock(t *testing.T) {
	const month = 30 * 24 * time.Hour
	w := newWorld(t)
	w.clock.Advance(month)
	if err := w.coll.RunOnce(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(-month)
	w.wantIn(w.call("", "GET /healthz", "", 503), `"status":"clock"`, `"future_sources":3`,
		`"reason":"a clock was wrong: 3 sources have times in the future"`)
	if err := w.coll.RunOnce(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.wantIn(w.call("", "GET /healthz", "", 200), `"status":"ok"`, `"future_sources":0`)
}
