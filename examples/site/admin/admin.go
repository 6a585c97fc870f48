// Package admin is the JSON API by which the site is written to, under
// /admin/api/. It reads from the store itself and never from a cache; it writes
// through package service and nothing else.
package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"

	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/store"
)

// Config says who may write to what.
type Config struct {
	Store   *store.Store     // required
	Service *service.Service // required
	Key     string           // that a request must bring as a bearer; empty: none will do
	Log     *slog.Logger     // is told of failures and refusals. Nil: slog.Default
}

type api struct {
	store *store.Store
	svc   *service.Service
	key   [sha256.Size]byte
	off   bool
	log   *slog.Logger
}

// New returns the handler of /admin/api/.
func New(cfg Config) http.Handler {
	a := &api{store: cfg.Store, svc: cfg.Service, key: sha256.Sum256([]byte(cfg.Key)), off: cfg.Key == "", log: cfg.Log}
	if a.log == nil {
		a.log = slog.Default()
	}
	mux := http.NewServeMux()
	a.routePosts(mux)
	a.routePages(mux)
	a.routeTags(mux)
	a.routeSite(mux)
	a.routeKeys(mux)
	mux.Handle("/admin/api/", do(a, func(context.Context, *http.Request, nothing) (reply, error) {
		return reply{}, &problem{Status: http.StatusNotFound, Text: "there is no such call"}
	}))
	return a.guard(mux)
}

// guard lets through what brings the key. It compares hashes, so that the time it
// takes says nothing about the key, not even its length.
func (a *api) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(key))
		same := subtle.ConstantTimeCompare(sum[:], a.key[:]) == 1
		if a.off || !same || !strings.EqualFold(scheme, "Bearer") {
			a.log.WarnContext(r.Context(), "admin request refused", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", `Bearer realm="admin"`)
			a.refuse(w, &problem{Status: http.StatusUnauthorized, Text: "the admin key is needed: Authorization: Bearer KEY"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
