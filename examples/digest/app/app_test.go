package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
	"github.com/twofold-go/twofold/examples/digest/summary"
	"github.com/twofold-go/twofold/examples/internal/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is in the middle of a day and of a period of four hours, in UTC.
var noon = time.Date(2026, time.February, 25, 14, 0, 0, 0, time.UTC)

// scribe reports each period that it writes about.
type scribe struct {
	summary.Extractive
	err    error
	wrote  chan time.Time // not nil: gets the starts of periods
	called atomic.Int64
}

func (s *scribe) Summarise(ctx context.Context, r summary.Request) (summary.Summary, error) {
	s.called.Add(1)
	if s.wrote != nil {
		s.wrote <- r.Start
	}
	if s.err != nil {
		return summary.Summary{}, s.err
	}
	return s.Extractive.Summarise(ctx, r)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// open opens a program on a database. The test closes it at its end.
func open(t *testing.T, cfg app.Config) *app.App {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = quiet()
	}
	a, err := app.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// fill adds a source with an item in each of the last periods of four hours, the open one
// included. It adds users who read the source, and one without subscriptions.
func fill(t *testing.T, path string, at time.Time, users int) {
	t.Helper()
	clock := storetest.NewClock(at)
	s := storetest.Open(t, path, clock.Now)
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		id, err := tx.AddSource(t.Context(), store.Source{Name: "News", Type: "rss", Config: []byte(`{"url":"https://hidden.example/?token=hidden"}`), Public: true})
		if err != nil {
			return err
		}
		for _, ago := range []time.Duration{24 * time.Hour, 8 * time.Hour, 4 * time.Hour, 0} {
			clock.Set(at.Add(-ago))
			url := "https://news.example/" + clock.Now().Format("0102150405")
			it := store.Item{GUID: url, URL: url, Title: "Told at " + clock.Now().Format("15:04"), Content: "The ferry runs every hour."}
			if _, err := tx.AddItems(t.Context(), id, []store.Item{it}); err != nil {
				return err
			}
		}
		for n := range users + 1 {
			name := fmt.Sprint("user", n)
			user, err := tx.AddUser(t.Context(), store.User{Name: name, Email: name, Slug: name, APIKeyHash: store.HashKey("key of " + name)})
			if err != nil {
				return err
			}
			if n < users {
				if err := tx.Subscribe(t.Context(), user, id); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestGenerateAll(t *testing.T) {
	path := storetest.Path(t)
	fill(t, path, noon, 3)
	s := &scribe{}
	a := open(t, app.Config{DB: path, Zone: "UTC", Now: func() time.Time { return noon }, Summariser: s})
	r, err := a.GenerateAll(t.Context(), digest.Daily)
	if err != nil || r.Err() != nil {
		t.Fatal(err, r.Err())
	}
	if r.Users != 4 || r.Outcomes[digest.Ready] != 3 || r.Outcomes[digest.NoSources] != 1 || r.Origins[digest.FromCall] != 1 || s.called.Load() != 1 {
		t.Errorf("%+v, %d calls", r, s.called.Load())
	}
}

// serving runs Serve. The test stops it at its end.
func serving(t *testing.T, a *app.App, s app.Serving) (url string, end func()) {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = l
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx, nil, s) }()
	return "http://" + l.Addr().String(), func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// A period is generated when it closes, or later if no process ran then.
func TestServeGeneratesWhatCloses(t *testing.T) {
	path := storetest.Path(t)
	before := time.Date(2026, time.February, 25, 16, 5, 0, 0, time.UTC).Add(-1500 * time.Millisecond) // a period ends at 16:00, plus the grace
	fill(t, path, before.Add(-10*time.Minute), 2)
	clock := storetest.NewClock(before)
	s := &scribe{wrote: make(chan time.Time, 10)}
	a := open(t, app.Config{DB: path, Zone: "UTC", Summariser: s, Now: clock.Now})
	_, end := serving(t, a, app.Serving{Generate: []digest.Kind{digest.FourHours}})
	for _, hour := range []int{8, 12} {
		if start := <-s.wrote; start.Hour() != hour {
			t.Errorf("a digest of %v, want one from %d:00", start, hour)
		}
		clock.Set(before.Add(2 * time.Second))
	}
	end()
	if n := s.called.Load(); n != 2 {
		t.Errorf("%d calls for two users and two periods, want 2", n)
	}
}

// The metrics describe the tiers, and name no user.
func TestMetrics(t *testing.T) {
	path := storetest.Path(t)
	fill(t, path, noon, 2)
	a := open(t, app.Config{DB: path, Zone: "UTC", Now: func() time.Time { return noon }, Key: "the operator's key"})
	if _, err := a.GenerateAll(t.Context(), digest.Daily); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(a.Handler())
	defer srv.Close()
	status, body := webtest.Get(t, srv.URL+"/metrics", "")
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	for _, want := range []string{
		"cache_", "go_goroutines",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	for _, secret := range []string{"hidden", "user0", "News"} {
		if strings.Contains(body, secret) {
			t.Errorf("the metrics tell %q", secret)
		}
	}
	if status, _ := webtest.Get(t, srv.URL+"/api/digest-cache/stats", ""); status != http.StatusUnauthorized {
		t.Errorf("the API answers %d without a key", status)
	}
	if status, body := webtest.Get(t, srv.URL+"/api/digest-cache/stats", "the operator's key"); status != http.StatusOK || !strings.Contains(body, `"llm_calls":1`) {
		t.Errorf("stats: %d %s", status, body)
	}
}
