// Package web is the public side of the site: pages, feeds, and the API that
// programs read. What it answers is a function of the request and of what a
// [content.Reader] returns, to the byte: it knows no clock, no chance and no
// database.
package web

import (
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/examples/site/content"
)

//go:embed templates/*.html static/site.css
var files embed.FS

// Config says what a site is made of.
type Config struct {
	Reader content.Reader // required
	Log    *slog.Logger   // is told of failures. Nil: slog.Default

	// Wrap is put around everything whose answers are for everybody: the pages
	// and feeds, and, inside the check of the key, the API. Nil: nothing is.
	Wrap func(http.Handler) http.Handler
}

type site struct {
	read content.Reader
	log  *slog.Logger
}

// New returns the handler of everything that the public sees.
func New(cfg Config) http.Handler {
	s := &site{read: cfg.Reader, log: cfg.Log}
	if s.log == nil {
		s.log = slog.Default()
	}
	if cfg.Wrap == nil {
		cfg.Wrap = func(h http.Handler) http.Handler { return h }
	}
	mux := http.NewServeMux()
	mux.Handle("/", cfg.Wrap(s.pages()))
	mux.Handle("/api/v1/", s.keyed(cfg.Wrap(s.api())))
	return mux
}

// pages returns the handler of what people and their feed readers see.
func (s *site) pages() http.Handler {
	mux := http.NewServeMux()
	for _, lang := range content.Langs {
		for path, h := range map[string]page{
			"/{$}":            s.home,
			"/posts/{slug}":   s.post,
			"/pages/{slug}":   s.page,
			"/tags/{tag}":     s.tag,
			"/months/{month}": s.month,
			"/rss.xml":        s.rss,
			"/atom.xml":       s.atom,
		} {
			mux.Handle("GET "+lang.Path(path), s.handle(lang, h))
		}
		mux.Handle(lang.Path("/"), s.handle(lang, s.nothing))
	}
	mux.Handle("GET /p/{id}", s.handle(content.English, s.short))
	mux.Handle("GET /sitemap.xml", s.handle(content.English, s.sitemap))
	mux.Handle("GET /robots.txt", s.handle(content.English, s.robots))
	mux.Handle("GET /static/site.css", s.handle(content.English, s.css))
	return mux
}

// page answers a request for something in lang. If it returns an error it has
// written nothing.
type page func(w http.ResponseWriter, r *http.Request, lang content.Lang) error

// handle makes a handler of h, which may fail.
func (s *site) handle(lang content.Lang, h page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r, lang)
		if errors.Is(err, content.ErrNotFound) {
			err = s.notFound(w, r, lang)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// fail answers a request that went wrong inside. Nobody but the log is told how.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody is waiting for an answer
	}
	s.log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	http.Error(w, "Something went wrong.", http.StatusInternalServerError)
}

// nothing answers what no other pattern matches.
func (s *site) nothing(w http.ResponseWriter, r *http.Request, _ content.Lang) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return content.ErrNotFound
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "Nothing here takes that method.", http.StatusMethodNotAllowed)
	return nil
}

// css serves the style sheet.
func (s *site) css(w http.ResponseWriter, _ *http.Request, _ content.Lang) error {
	b, err := files.ReadFile("static/site.css")
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	send(w, http.StatusOK, "text/css; charset=utf-8", b)
	return nil
}

// robots serves robots.txt.
func (s *site) robots(w http.ResponseWriter, r *http.Request, _ content.Lang) error {
	set, err := s.read.Settings(r.Context())
	if err != nil {
		return err
	}
	lines := []string{"User-agent: *", "Disallow: /admin/", "Disallow: /api/", "", "Sitemap: " + set.BaseURL + "/sitemap.xml", ""}
	send(w, http.StatusOK, "text/plain; charset=utf-8", []byte(strings.Join(lines, "\n")))
	return nil
}

// short sends the reader of a link that outlives changes of the slug to the post.
func (s *site) short(w http.ResponseWriter, r *http.Request, _ content.Lang) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return content.ErrNotFound
	}
	p, err := s.read.PostByID(r.Context(), id)
	if err != nil {
		return err
	}
	http.Redirect(w, r, p.Path(), http.StatusFound)
	return nil
}

// send writes a whole response.
func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who does not read it any more needs no telling
}
