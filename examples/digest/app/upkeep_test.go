package app_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
)

func number(t *testing.T, a *app.App, query string) (n int) {
	t.Helper()
	_, readers := a.Store.Pools()
	if err := readers.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func page(t *testing.T, a *app.App, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w.Body.String()
}

// until waits for another goroutine.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline, poll := time.NewTimer(30*time.Second), time.NewTicker(2*time.Millisecond)
	defer deadline.Stop()
	defer poll.Stop()
	for !done() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("in half a minute: no %s", what)
		}
	}
}

// A cron job that generates cleans too, although it never runs for an hour as a service does.
func TestGenerateAllCleans(t *testing.T) {
	path := storetest.Path(t)
	fill(t, path, noon, 1)
	clock := storetest.NewClock(noon)
	a := open(t, app.Config{DB: path, Zone: "UTC", Now: clock.Now})
	for range 2 {
		if _, err := a.GenerateAll(t.Context(), digest.Daily); err != nil {
			t.Fatal(err)
		}
		if n := number(t, a, `SELECT count(*) FROM digest_cache`); n != 1 {
			t.Errorf("%d rows are in the cache, want the last one", n)
		}
		clock.Advance(digest.Daily.Retention())
	}
}

// A serving program corrects wrong hashes daily. The log and /healthz report it.
func TestServeVerifies(t *testing.T) {
	path := storetest.Path(t)
	fill(t, path, noon, 2)
	var log strings.Builder
	a := open(t, app.Config{DB: path, Zone: "UTC", Now: func() time.Time { return noon }, Log: slog.New(slog.NewTextHandler(&log, nil))})
	spoil := func() {
		writer, _ := a.Store.Pools()
		if _, err := writer.ExecContext(t.Context(), `UPDATE user_subscription_hashes SET source_count = 99 WHERE user_id = 1`); err != nil {
			t.Fatal(err)
		}
	}
	before := page(t, a, "/healthz")
	if !strings.Contains(before, `"verified":null`) {
		t.Errorf("/healthz before the first: %s", before)
	}
	spoil()
	_, end := serving(t, a, app.Serving{Verify: time.Millisecond})
	for range 2 {
		until(t, "correction", func() bool {
			return number(t, a, `SELECT count(*) FROM user_subscription_hashes WHERE source_count = 99`) == 0
		})
		until(t, "word of it", func() bool {
			return strings.Contains(page(t, a, "/healthz"), `"verified":{"at":"2026-02-25T14:00:00Z","corrected":`)
		})
		spoil()
	}
	end()
	if !strings.Contains(log.String(), "a stored hash was wrong, and was corrected") {
		t.Errorf("the log says nothing: %s", log.String())
	}
}
