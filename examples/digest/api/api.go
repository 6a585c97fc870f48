// Package api is the HTTP API of the digest program, with the pages and feeds of the digests. The
// operator and each user have a key. A private source does not exist for other users.
package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/manage"
	"github.com/twofold-go/twofold/examples/digest/store"
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
	Manage    *manage.Manager
	Key       string           // the operator's key; empty: no key is valid
	BaseURL   string           // the beginning of links in feeds, without a path
	Log       *slog.Logger     // for failures and refusals
	Verified  func() *Verified // for /healthz; returns nil before the first verification
}

type api struct {
	Config
	key [sha256.Size]byte // hash of Config.Key
	mux *http.ServeMux
}

// New returns the handler of /api/, /feed/ and /healthz.
func New(cfg Config) http.Handler {
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	a := &api{Config: cfg, key: sha256.Sum256([]byte(cfg.Key)), mux: http.NewServeMux()}
	for _, r := range a.routes() {
		a.mux.Handle(r.pattern, a.handle(r))
	}
	a.mux.HandleFunc("GET /feed/{slug}", a.feed)
	a.mux.HandleFunc("GET /healthz", a.health)
	a.mux.HandleFunc("/", a.unknown)
	return a.mux
}

type route struct {
	pattern string
	need    access
	params  []string
	call    call
}

func (a *api) routes() []route {
	m := a.Manage
	return []route{
		{"GET /api/collector/status", operators, nil, func(r *request) (any, error) { return a.Collector.Status(r.Context()) }},
		{"GET /api/digest-cache/stats", operators, nil, func(r *request) (any, error) { return a.Digests.Stats(r.Context()) }},
		{"DELETE /api/admin/digest-cache", operators, []string{"hash", "before", "all"}, a.forget},
		{"GET /api/admin/sources", operators, nil, func(r *request) (any, error) {
			all, err := a.Store.AllSources(r.Context())
			return list("sources", all, err)
		}},
		{"POST /api/admin/sources", operators, nil, body(func(r *request, in manage.NewSource) (any, error) { return m.AddSource(r.Context(), in) })},
		{"PATCH /api/admin/sources/{id}", operators, nil, body(func(r *request, in store.SourceEdit) (any, error) {
			return m.EditSource(r.Context(), r.id, in)
		})},
		{"DELETE /api/admin/sources/{id}", operators, nil, onSource(m.DeleteSource)},
		{"POST /api/admin/sources/{id}/restore", operators, nil, onSource(m.RestoreSource)},
		{"POST /api/admin/sources/{id}/resume", operators, nil, a.resume},
		{"GET /api/admin/users", operators, []string{"after", "limit"}, a.allUsers},
		{"PATCH /api/admin/users/{id}", operators, nil, body(func(r *request, in store.UserEdit) (any, error) {
			return m.EditUser(r.Context(), r.id, in)
		})},
		{"DELETE /api/admin/users/{id}", operators, nil, func(r *request) (any, error) {
			return map[string]int64{"removed": r.id}, m.RemoveUser(r.Context(), r.id)
		}},
		{"GET /api/raw-items", known, []string{"source_id", "since", "limit", "offset"}, a.rawItems},
		{"GET /api/raw-items/stats", known, nil, func(r *request) (any, error) {
			all, err := a.Store.ItemStats(r.Context(), r.who.user.ID, r.who.operator)
			return list("sources", all, err)
		}},
		{"GET /api/raw-items/for-digest", users, []string{"type", "since", "limit"}, a.forDigest},
		{"GET /api/subscription-hash", users, nil, func(r *request) (any, error) { return a.subscriptions(r) }},
		{"POST /api/subscriptions", users, nil, body(a.subscribe)},
		{"DELETE /api/subscriptions/{source}", users, nil, func(r *request) (any, error) {
			return a.change(r, func(tx *store.Tx) error { return tx.Unsubscribe(r.Context(), r.who.user.ID, r.id) })
		}},
		{"POST /api/packs/{slug}/install", users, nil, a.install},
		{"GET /api/digests", users, []string{"type", "limit"}, a.digests},
		{"POST /api/digests", known, nil, body(a.postDigest)},
		{"GET /api/sources", anybody, nil, a.sources},
		{"GET /api/packs", anybody, nil, func(r *request) (any, error) {
			all, err := a.Store.Packs(r.Context(), r.who.user.ID)
			return list("packs", all, err)
		}},
	}
}

// unknown answers requests without a route: 405 if the path has other methods, otherwise 404.
func (a *api) unknown(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		probe := r.Clone(r.Context())
		probe.Method = m
		if _, pattern := a.mux.Handler(probe); pattern != "/" {
			allow = append(allow, m)
		}
	}
	if allow == nil {
		a.refuse(w, r, &problem{Status: http.StatusNotFound, Text: "no such call"})
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	a.refuse(w, r, &problem{Status: http.StatusMethodNotAllowed, Text: "the method must be one of " + strings.Join(allow, ", ")})
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

var unauthorised = &problem{Status: http.StatusUnauthorized, Text: "send a valid key: Authorization: Bearer KEY"}

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
	// Compare hashes, so that the duration does not depend on the key.
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
		return &problem{Status: http.StatusForbidden, Text: "this call takes the operator's key, not a user's"}
	}
	return &problem{Status: http.StatusForbidden, Text: "this call takes a user's key, not the operator's"}
}
