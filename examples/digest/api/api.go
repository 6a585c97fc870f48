// Package api is the HTTP API of the digest program, and the pages and feeds in which
// people read their digests.
//
// There are two sorts of keys, both sent as "Authorization: Bearer KEY": the operator's,
// for what is about everybody, and those of users, for what is their own. What somebody
// else keeps private looks as if it were not there.
//
// Decisions, each with the test that holds it:
//
//   - D-E11. Deleting the cache without parameters deletes all of it, as documented, and
//     answers how much that was. Whatever might have been meant as a parameter and is none
//     is refused and never taken for "all": an unknown name, an empty value, a query that
//     does not parse, a body. (TestDeleteIsNeverAllByMistake)
//   - C-E4. The status is the union of both documented forms. (TestCase14Status)
//   - Status shows the names of all sources, private ones too, so it takes the operator's
//     key. (TestCase13StatusNeedsAKey)
//   - Sources are listed for strangers, too, but then without the two fields about
//     fetching, which the document reserves for users. (TestSources)
//   - A feed is read without a key, which feed readers cannot send. Strangers get the
//     digests of which it is known that all their sources are public; the owner's key
//     shows all. (TestFeedHidesPrivateSources)
package api

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// DefaultBaseURL is where the program is found when nobody says where.
const DefaultBaseURL = "http://localhost:8080"

// Digests is what the API needs of a [digest.Service], whose methods these are.
type Digests interface {
	Generate(ctx context.Context, r digest.Request) (digest.Result, error)
	Forget(ctx context.Context, sel store.CacheSelection, actor string) (int64, error)
	Stats(ctx context.Context, since time.Time) (digest.Stats, error)
}

// Collector is what the API needs of a [collector.Collector], whose methods these are.
// It need not be one that runs: status and health are read from the database.
type Collector interface {
	Status(ctx context.Context) (collector.Status, error)
	SourceStatus(s store.FetchState) collector.SourceStatus
	Health(ctx context.Context) (collector.Health, error)

	// Resume lets a paused source go on, and says that sources have changed.
	Resume(ctx context.Context, id int64) error
}

// Config says what is served. Store, Digests and Collector are required.
type Config struct {
	Store     *store.Store
	Digests   Digests
	Collector Collector
	Key       string         // the operator's; empty: none will do
	BaseURL   string         // what links in feeds begin with, without a path. Empty: DefaultBaseURL
	Location  *time.Location // of dates without a time, and of those in titles. Nil: UTC
	Log       *slog.Logger   // is told of failures and refusals. Nil: slog.Default
}

type api struct {
	Config
	key [sha256.Size]byte // of Config.Key
	mux *http.ServeMux
}

// New returns the handler of /api/, /feed/ and /healthz. It may be used concurrently.
func New(cfg Config) http.Handler {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	a := &api{Config: cfg, key: sha256.Sum256([]byte(cfg.Key)), mux: http.NewServeMux()}
	for _, r := range a.routes() {
		a.mux.Handle(r.pattern, a.handle(r))
	}
	a.mux.HandleFunc("GET /feed/{slug}", a.feed)
	a.mux.HandleFunc("GET /healthz", a.health)
	a.mux.HandleFunc("/", a.unknown)
	return a.mux
}

// route is a call: who may make it, and with which parameters.
type route struct {
	pattern string
	need    access
	params  []string
	call    func(r request) (any, error)
}

func (a *api) routes() []route {
	return []route{
		{"GET /api/collector/status", operators, nil, a.status},
		{"GET /api/digest-cache/stats", operators, nil, a.stats},
		{"DELETE /api/admin/digest-cache", operators, []string{"hash", "before", "all"}, a.forget},
		{"POST /api/admin/sources/{id}/resume", operators, nil, a.resume},

		{"GET /api/subscription-hash", users, nil, a.hash},
		{"POST /api/subscriptions", users, nil, a.subscribe},
		{"DELETE /api/subscriptions/{source}", users, nil, a.unsubscribe},
		{"POST /api/packs/{slug}/install", users, nil, a.install},
		{"GET /api/digests", users, []string{"type", "limit"}, a.digests},
		{"POST /api/digests", users, nil, a.generate},

		{"GET /api/sources", anybody, nil, a.sources},
		{"GET /api/packs", anybody, nil, a.packs},
	}
}

// unknown answers what no route takes: 405 for a path that other methods have, or 404.
func (a *api) unknown(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		probe := r.Clone(r.Context())
		probe.Method = m
		if _, pattern := a.mux.Handler(probe); pattern != "/" {
			allow = append(allow, m)
		}
	}
	if allow == nil {
		a.refuse(w, r, &problem{Status: http.StatusNotFound, Text: "there is no such call"})
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	a.refuse(w, r, &problem{Status: http.StatusMethodNotAllowed, Text: "the method must be one of " + strings.Join(allow, ", ")})
}
