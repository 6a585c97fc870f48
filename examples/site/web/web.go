// Package web is the public side of the site: pages, feeds, and the API. Every byte of an
// answer depends only on the request and the [content.Reader].
package web

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/site/content"
)

//go:embed templates/*.html static/site.css
var files embed.FS

// Config configures the public side.
type Config struct {
	Reader content.Reader // required
	Log    *slog.Logger   // for failures. Nil means slog.Default
	// Writes serves the writes of /api/v1 whose key has the scope. If nil, there are no writes.
	Writes http.Handler
	// Wrap wraps the pages and, inside the check of the key, the API. If nil, nothing is wrapped.
	Wrap func(http.Handler) http.Handler
}

type site struct {
	read  content.Reader
	log   *slog.Logger
	calls *call.API
}

// New returns the handler of the public side.
func New(cfg Config) http.Handler {
	s := &site{read: cfg.Reader, log: cmp.Or(cfg.Log, slog.Default())}
	s.calls = &call.API{Log: s.log, Explain: func(err error) *call.Problem {
		if errors.Is(err, content.ErrNotFound) {
			return call.NotFound
		}
		return nil
	}}
	if cfg.Wrap == nil {
		cfg.Wrap = func(h http.Handler) http.Handler { return h }
	}
	if cfg.Writes == nil {
		cfg.Writes = http.NotFoundHandler()
	}
	mux := http.NewServeMux()
	mux.Handle("/", cfg.Wrap(s.pages()))
	mux.Handle("/api/v1/", s.keyed(cfg.Wrap(s.api()), cfg.Writes))
	return mux
}

func (s *site) pages() http.Handler {
	mux := http.NewServeMux()
	for path, h := range map[string]page{
		"/{$}":             s.home,
		"/posts/{slug}":    s.post,
		"/pages/{slug}":    s.page,
		"/tags/{tag}":      s.tag,
		"/months/{month}":  s.month,
		"/p/{id}":          short(s.read.PostByID),
		"/page/{id}":       short(s.read.PageByID),
		"/rss.xml":         s.rss,
		"/sitemap.xml":     s.sitemap,
		"/robots.txt":      s.robots,
		"/static/site.css": s.css,
		"/":                s.notFound,
	} {
		mux.Handle("GET "+path, s.handle(h))
	}
	return mux
}

// page serves a request. If it returns an error, it has written nothing.
type page func(w http.ResponseWriter, r *http.Request) error

func (s *site) handle(h page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if errors.Is(err, content.ErrNotFound) {
			err = s.notFound(w, r)
		}
		if err == nil {
			return
		}
		if r.Context().Err() != nil { // an empty page would look like a good one
			http.Error(w, "The request has ended.", http.StatusServiceUnavailable)
			return
		}
		s.log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		http.Error(w, "Something went wrong.", http.StatusInternalServerError)
	})
}

func (s *site) css(w http.ResponseWriter, _ *http.Request) error {
	b, err := files.ReadFile("static/site.css")
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	call.Send(w, http.StatusOK, "text/css; charset=utf-8", b)
	return nil
}

func (s *site) robots(w http.ResponseWriter, r *http.Request) error {
	set, err := s.read.Settings(r.Context())
	if err != nil {
		return err
	}
	lines := []string{"User-agent: *", "Disallow: /admin/", "Disallow: /api/", "", "Sitemap: " + set.BaseURL + "/sitemap.xml", ""}
	call.Send(w, http.StatusOK, "text/plain; charset=utf-8", []byte(strings.Join(lines, "\n")))
	return nil
}

// short redirects a permanent link with an id to the post or page.
func short[T interface{ Path() string }](read func(context.Context, int64) (T, error)) page {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			return content.ErrNotFound
		}
		v, err := read(r.Context(), id)
		if err == nil {
			http.Redirect(w, r, v.Path(), http.StatusFound)
		}
		return err
	}
}
