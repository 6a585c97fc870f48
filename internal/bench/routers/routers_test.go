// Package routers_test tries the HTTP cache with the routers that its guide names.
package routers_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"
	"github.com/gorilla/mux"
	"github.com/labstack/echo/v4"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

type middleware = func(http.Handler) http.Handler

// page writes the page of /posts/{id}.
func page(w http.ResponseWriter, id string) {
	w.Header().Set("Cache-Control", "max-age=60, stale-while-revalidate=60")
	_, _ = fmt.Fprint(w, "post ", id)
}

// routers make a router with the middleware inside it.
var routers = map[string]func(m middleware) http.Handler{
	"net/http": func(m middleware) http.Handler {
		r := http.NewServeMux()
		r.Handle("GET /posts/{id}", m(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { page(w, r.PathValue("id")) })))
		return r
	},
	"chi, Use": func(m middleware) http.Handler {
		r := chi.NewRouter()
		r.Use(chimiddleware.RequestID, m, chimiddleware.Recoverer)
		r.Get("/posts/{id}", func(w http.ResponseWriter, r *http.Request) { page(w, chi.URLParam(r, "id")) })
		return r
	},
	"chi, With": func(m middleware) http.Handler {
		r := chi.NewRouter()
		r.With(m).Get("/posts/{id}", func(w http.ResponseWriter, r *http.Request) { page(w, chi.URLParam(r, "id")) })
		return r
	},
	"gorilla/mux, Use": func(m middleware) http.Handler {
		r := mux.NewRouter()
		r.Use(m)
		r.HandleFunc("/posts/{id}", func(w http.ResponseWriter, r *http.Request) { page(w, mux.Vars(r)["id"]) })
		return r
	},
	"gorilla/mux, route": func(m middleware) http.Handler {
		r := mux.NewRouter()
		r.Handle("/posts/{id}", m(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { page(w, mux.Vars(r)["id"]) })))
		return r
	},
	"echo, WrapMiddleware": func(m middleware) http.Handler {
		e := echo.New()
		e.Use(echo.WrapMiddleware(m))
		e.GET("/posts/:id", func(c echo.Context) error { page(c.Response(), c.Param("id")); return nil })
		return e
	},
}

func get(h http.Handler, id string) (body, how string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/posts/"+id, http.NoBody))
	return w.Body.String(), w.Header().Get("Cache-Status")
}

// Inside any router each URL has its own page, or the request bypasses the cache and the log says once what to do.
// Around the router the pages are stored.
func TestRouters(t *testing.T) {
	for name, router := range routers {
		for _, preset := range []httpcache.Preset{httpcache.Shared, httpcache.Pages} {
			t.Run(fmt.Sprint(name, "/", preset), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log strings.Builder
					pages := open(t, httpcache.Config{Preset: preset, Logger: slog.New(slog.NewTextHandler(&log, nil))})
					inside, outside := router(pages.Middleware), pages.Middleware(router(func(h http.Handler) http.Handler { return h }))
					stores := name == "net/http"
					for range 3 {
						for _, id := range []string{"1", "2", "1"} {
							body, how := get(inside, id)
							if body != "post "+id {
								t.Errorf("%q, %s, want post %s", body, how, id)
							}
							if !stores && (strings.Contains(how, "hit") || strings.Contains(how, "stored")) {
								t.Error(how)
							}
						}
						<-time.After(65 * time.Second) // stale by now
						synctest.Wait()
					}
					if n := strings.Count(log.String(), "around the router"); stores != (n == 0) || n > 1 {
						t.Errorf("the log says:\n%s", log.String())
					}
					if err := pages.PurgeAll(t.Context()); err != nil {
						t.Error(err)
					}
					for i := range 2 {
						for _, id := range []string{"1", "2"} {
							if body, how := get(outside, id); body != "post "+id || strings.Contains(how, "hit") != (i == 1) {
								t.Errorf("around the router: %q, %s", body, how)
							}
						}
					}
				})
			})
		}
	}
}

func open(t *testing.T, cfg httpcache.Config) *httpcache.Cache {
	t.Helper()
	tiers, err := cache.Open(cache.TiersConfig{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tiers.Close(context.WithoutCancel(t.Context())) })
	cfg.Tiers = tiers
	c, err := httpcache.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}
