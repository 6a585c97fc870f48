package newsroom_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/newsroom"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// noon of a day on which nothing fails.
var noon = time.Date(2026, 2, 25, 12, 0, 0, 0, time.UTC)

// world is a newsroom on loopback, and what the collector has to ask it with.
type world struct {
	*newsroom.Newsroom
	clock    *storetest.Clock
	base     string
	fetchers map[string]fetchers.Fetcher
	sources  []store.Source
}

func newWorld(t *testing.T, cfg newsroom.Config) *world {
	t.Helper()
	w := &world{clock: storetest.NewClock(noon)}
	if !cfg.Day.IsZero() {
		w.clock.Set(cfg.Day)
	}
	cfg.Now = w.clock.Now
	n, err := newsroom.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Newsroom = n
	srv := httptest.NewServer(n)
	t.Cleanup(srv.Close)
	w.base = srv.URL
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := fetch.New(fetch.Config{Tiers: tiers, UserAgent: "Test/1.0", AllowPrivate: true, Now: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := tiers.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	services := newsroom.Services(w.base)
	services.Client = client
	w.fetchers = fetchers.New(services)
	if w.sources, err = newsroom.Sources(w.base); err != nil {
		t.Fatal(err)
	}
	return w
}

// fetch fetches a source as the collector would.
func (w *world) fetch(t *testing.T, s store.Source, seen string) (fetchers.Result, error) {
	t.Helper()
	return w.fetchers[s.Type].Fetch(t.Context(), fetchers.Source{Type: s.Type, Config: s.Config, Seen: seen})
}

// source returns the source of a name.
func (w *world) source(t *testing.T, name string) store.Source {
	t.Helper()
	for _, s := range w.sources {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no source %q", name)
	return store.Source{}
}

// ask asks a path without a client in between.
func (w *world) ask(t *testing.T, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	if header != nil {
		r.Header = header
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}
