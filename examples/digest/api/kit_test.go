package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/digest/api"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, time.February, 25, 12, 0, 0, 0, time.UTC)

// The keys of the operator and of two users.
const operator, ann, bob = "the operator's key", "ann's key", "bob's key"

// The sources of a world. Secret is private and belongs to Ann.
const news, tech, secret int64 = 1, 2, 3

// fake is a fetcher that returns one item, or fails. Its addresses are those of the real one.
type fake struct {
	fetchers.Fetcher
	err error
}

func (f *fake) Fetch(context.Context, fetchers.Source) (fetchers.Result, error) {
	return fetchers.Result{Status: 200, Seen: "x", Items: []fetchers.Item{{GUID: "x", Title: "A thing"}}}, f.err
}

// scribe is the default summariser, until a test makes it fail.
type scribe struct {
	summary.Extractive
	err error
}

func (s *scribe) Summarise(ctx context.Context, r summary.Request) (summary.Summary, error) {
	if s.err != nil {
		return summary.Summary{}, s.err
	}
	return s.Extractive.Summarise(ctx, r)
}

// world is the API on a database with two users and three sources.
type world struct {
	http.Handler
	t      *testing.T
	clock  *storetest.Clock
	store  *store.Store
	svc    *digest.Service
	coll   *collector.Collector
	fake   *fake
	scribe *scribe
	log    strings.Builder
	cfg    api.Config
}

func newWorld(t *testing.T, change ...func(c *digest.Config)) *world {
	t.Helper()
	w := &world{t: t, clock: storetest.NewClock(noon.Add(-24 * time.Hour)), fake: &fake{Fetcher: fetchers.New(fetchers.Config{})["rss"]}, scribe: &scribe{}}
	w.store = storetest.New(t, w.clock.Now)
	w.write(w.seed)
	w.clock.Set(noon)
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	var err error
	cfg := digest.Config{
		Store: w.store, Summariser: w.scribe, Zone: "UTC", ClaimTTL: 10 * time.Second, Bound: 10 * time.Second,
		ErrorTTL: -1, FlushEvery: time.Hour, Logger: log,
	}
	for _, c := range change {
		c(&cfg)
	}
	w.svc, err = digest.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.svc.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w.coll, err = collector.New(collector.Config{
		Store: w.store, Tiers: w.svc.Tiers(), Fetchers: map[string]fetchers.Fetcher{"rss": w.fake, "hackernews": fetchers.New(fetchers.Config{})["hackernews"]}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.cfg = api.Config{Store: w.store, Digests: w.svc, Collector: w.coll, Key: operator, BaseURL: "https://digest.example/", Log: log}
	w.Handler = api.New(w.cfg)
	return w
}

// seed adds sources with one item each, a pack of them all, and users without subscriptions.
func (w *world) seed(ctx context.Context, tx *store.Tx) error {
	var all []error
	for _, u := range []string{"ann", "bob"} {
		_, err := tx.AddUser(ctx, store.User{Name: u + " <b>", Email: u + "@example.com", Slug: u, APIKeyHash: store.HashKey(u + "'s key")})
		all = append(all, err)
	}
	for i, s := range []store.Source{{Name: "News", Public: true}, {Name: "Tech", Public: true}, {Name: "Secret", OwnerID: 1}} {
		s.Type, s.Config = "rss", json.RawMessage(`{"url":"https://hidden.example/?token=hidden"}`)
		id, err := tx.AddSource(ctx, s)
		url := fmt.Sprintf("https://s.example/%d", i)
		it := store.Item{GUID: url, URL: url, Title: "Told by " + s.Name, Content: "Something <script>happened</script> somewhere.\x02"}
		_, err2 := tx.AddItems(ctx, id, []store.Item{it})
		all = append(all, err, err2)
	}
	_, err := tx.AddPack(ctx, store.Pack{Slug: "start", Name: "Start", SourceIDs: []int64{news, tech, secret}})
	return errors.Join(append(all, err)...)
}

func (w *world) write(fn func(ctx context.Context, tx *store.Tx) error) {
	w.t.Helper()
	if err := w.store.Write(w.t.Context(), func(tx *store.Tx) error { return fn(w.t.Context(), tx) }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) subscribe(user int64, sources ...int64) {
	w.t.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.Subscribe(ctx, user, sources...) })
}

// do makes a call such as "GET /healthz". An empty key or body is not sent.
func (w *world) do(key, call, body string) *httptest.ResponseRecorder {
	w.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	if strings.Contains(rec.Body.String(), "hidden") {
		w.t.Errorf("%s shows a config: %s", call, rec.Body)
	}
	return rec
}

// call is do for calls of the API. It checks the common form of answers, and returns the body.
func (w *world) call(key, call, body string, want int) string {
	w.t.Helper()
	rec := w.do(key, call, body)
	h := rec.Header()
	if rec.Code != want || h.Get("Cache-Control") != "no-store" || h.Get("Content-Type") != "application/json" {
		w.t.Errorf("%s %s = %d, want %d: %s, %v", call, body, rec.Code, want, rec.Body, h)
	}
	var e struct{ Error string }
	if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil || (want != http.StatusServiceUnavailable && (e.Error != "") != (want >= 400)) {
		w.t.Errorf("%s: %v, error %q with status %d", call, err, e.Error, want)
	}
	return rec.Body.String()
}

// read is call with status 200. It decodes the body as an Out.
func read[Out any](w *world, key, call, body string) (out Out) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.call(key, call, body, http.StatusOK)), &out); err != nil {
		w.t.Fatalf("%s: %v", call, err)
	}
	return out
}

func (w *world) wantIn(text string, parts ...string) {
	w.t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			w.t.Errorf("no %s in %s", p, text)
		}
	}
}
