// Package api is the HTTP API of the digest program, with the pages and feeds of the digests. The
// operator and each user have a key. A private source does not exist for other users.
package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/call"
)

// Verified is the result of the last verification of the stored hashes.
type Verified struct {
	At        time.Time `json:"at"`
	Corrected int       `json:"corrected"`
	Failed    bool      `json:"failed"` // the database did not answer
}

// Config configures the API.
type Config struct {
	Store     *store.Store
	Digests   *digest.Service
	Collector *collector.Collector // need not run: status and health come from the database
	Key       string               // the operator's key; empty means that no key is valid
	BaseURL   string               // the beginning of links in feeds, without a path
	Log       *slog.Logger         // for failures and refusals
	Verified  func() *Verified     // for /healthz; returns nil before the first verification
}

type api struct {
	Config
	calls call.API
	key   [sha256.Size]byte // hash of Config.Key
}

const maxBody = 64 << 10

// New returns the handler of /api/, /feed/ and /healthz.
func New(cfg Config) http.Handler {
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	a := &api{Config: cfg, calls: call.API{Log: cfg.Log, Explain: explain, MaxBody: maxBody}, key: sha256.Sum256([]byte(cfg.Key))}
	mux := http.NewServeMux()
	for _, r := range a.routes() {
		mux.Handle(r.pattern, a.handle(r))
	}
	mux.HandleFunc("GET /feed/{slug}", a.feed)
	mux.HandleFunc("GET /healthz", a.health)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // the feeds replace it
		mux.ServeHTTP(w, r)
	})
}

type route struct {
	pattern string
	need    access
	params  []string
	handler http.Handler
}

func (a *api) routes() []route {
	return []route{
		{"GET /api/collector/status", operators, nil, get(a, func(r *request) (any, error) { return a.Collector.Status(r.Context()) })},
		{"GET /api/digest-cache/stats", operators, nil, get(a, func(r *request) (any, error) { return a.Digests.Stats(r.Context()) })},
		{"DELETE /api/admin/digest-cache", operators, []string{"hash", "before", "all"}, get(a, a.forget)},
		{"GET /api/admin/sources", operators, nil, get(a, func(r *request) (any, error) {
			all, err := a.Store.AllSources(r.Context())
			return call.List("sources", all, err)
		})},
		{"POST /api/admin/sources", operators, nil, do(a, a.addSource)},
		{"PATCH /api/admin/sources/{id}", operators, nil, do(a, a.editSource)},
		{"DELETE /api/admin/sources/{id}", operators, nil, get(a, func(r *request) (any, error) {
			return a.changeSource(r, func(tx *store.Tx) (int64, error) { return r.id, tx.DeleteSource(r.Context(), r.id) })
		})},
		{"POST /api/admin/sources/{id}/restore", operators, nil, get(a, func(r *request) (any, error) {
			return a.changeSource(r, func(tx *store.Tx) (int64, error) { return r.id, tx.RestoreSource(r.Context(), r.id) })
		})},
		{"POST /api/admin/sources/{id}/pause", operators, nil, get(a, func(r *request) (any, error) {
			return a.changeSource(r, func(tx *store.Tx) (int64, error) { return r.id, tx.PauseSource(r.Context(), r.id) })
		})},
		{"POST /api/admin/sources/{id}/resume", operators, nil, get(a, a.resume)},
		{"GET /api/raw-items", known, []string{"source_id", "since", "limit", "offset"}, get(a, a.rawItems)},
		{"GET /api/raw-items/stats", known, nil, get(a, func(r *request) (any, error) {
			all, err := a.Store.ItemStats(r.Context(), r.who.user.ID, r.who.operator)
			return call.List("sources", all, err)
		})},
		{"GET /api/raw-items/for-digest", users, []string{"type", "since", "limit"}, get(a, a.forDigest)},
		{"GET /api/subscription-hash", users, nil, get(a, func(r *request) (any, error) { return a.subscriptions(r) })},
		{"POST /api/subscriptions", users, nil, do(a, a.subscribe)},
		{"DELETE /api/subscriptions/{id}", users, nil, get(a, func(r *request) (any, error) {
			return a.change(r, func(tx *store.Tx) error { return tx.Unsubscribe(r.Context(), r.who.user.ID, r.id) })
		})},
		{"POST /api/packs/{slug}/install", users, nil, get(a, a.install)},
		{"GET /api/digests", users, []string{"type", "limit"}, get(a, a.digests)},
		{"POST /api/digests", known, nil, do(a, a.postDigest)},
		{"GET /api/sources", anybody, nil, get(a, a.sources)},
		{"GET /api/packs", anybody, nil, get(a, func(r *request) (any, error) {
			all, err := a.Store.Packs(r.Context(), r.who.user.ID)
			return call.List("packs", all, err)
		})},
	}
}

// request is a request whose author may make the call.
type request struct {
	*http.Request
	who   caller
	query *call.Query
	id    int64 // from the path
}

type requestKey struct{}

func do[In any](a *api, fn func(r *request, in In) (any, error)) http.Handler {
	return call.Do(&a.calls, func(r *http.Request, in In) (any, error) {
		return fn(r.Context().Value(requestKey{}).(*request), in)
	})
}

func get(a *api, fn func(r *request) (any, error)) http.Handler {
	return do(a, func(r *request, _ call.None) (any, error) { return fn(r) })
}

// handle checks the key, the parameters and the path before the body is read.
func (a *api) handle(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &request{Request: r, query: call.QueryOf(r, rt.params...)}
		var err error
		if req.who, err = a.identify(r); err == nil {
			err = req.who.check(rt.need)
		}
		if err == nil {
			err = req.query.Err()
		}
		if err == nil && strings.Contains(rt.pattern, "{id}") {
			req.id, err = call.ID(r, "id")
		}
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		rt.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, req)))
	})
}

// refuse answers with an error. It logs requests without the right key.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if p, ok := errors.AsType[*call.Problem](err); ok && p.Challenge != nil {
		a.Log.WarnContext(r.Context(), "request refused", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
	}
	a.calls.Fail(w, r, err)
}

func explain(err error) *call.Problem {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return &call.Problem{Status: http.StatusNotFound, Text: "not found, or not visible to you"}
	}
	return nil
}

// access says which callers may make a call.
type access int

const (
	anybody   access = iota // even without a key, but not with a wrong one
	known                   // a user or the operator
	users                   // a user, about the user's own data
	operators               // the operator
)

// caller is the author of a request. The zero caller has no key.
type caller struct {
	user     store.User // of a user's key
	operator bool
}

func (c caller) known() bool { return c.operator || c.user.ID != 0 }

func denied(status int, text string) *call.Problem {
	return &call.Problem{Status: status, Text: text, Challenge: []string{`Bearer realm="digest"`}}
}

var unauthorised = denied(http.StatusUnauthorized, "send a valid key: Authorization: Bearer KEY")

// identify returns the author of a request. It refuses a wrong key, even where none is needed.
func (a *api) identify(r *http.Request) (c caller, err error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return c, nil
	}
	scheme, key, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" { // an empty key would match an empty Config.Key
		return c, unauthorised
	}
	// Compare hashes, because the duration must not depend on the key.
	sum := sha256.Sum256([]byte(key))
	if subtle.ConstantTimeCompare(sum[:], a.key[:]) == 1 {
		return caller{operator: true}, nil
	}
	c.user, err = a.Store.UserByKey(r.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return c, unauthorised
	}
	return c, err
}

func (c caller) check(need access) error {
	switch {
	case need == anybody, need == known && c.known(), need == operators && c.operator, need == users && c.user.ID != 0:
		return nil
	case !c.known():
		return unauthorised
	case need == operators:
		return denied(http.StatusForbidden, "this call takes the operator's key, not a user's")
	}
	return denied(http.StatusForbidden, "this call takes a user's key, not the operator's")
}
