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
	"time"

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
	for _, lang := range content.Langs {
		for path, h := range map[string]page{
			"/{$}":            s.home,
			"/posts/{slug}":   s.post,
			"/pages/{slug}":   s.page,
			"/tags/{tag}":     s.tag,
			"/months/{month}": s.month,
			"/rss.xml":        s.rss,
		} {
			mux.Handle("GET "+lang.Path(path), s.handle(lang, h))
		}
		mux.Handle("GET "+lang.Path("/"), s.handle(lang, s.notFound))
	}
	mux.Handle("GET /p/{id}", s.handle(content.English, short(s.read.PostByID)))
	mux.Handle("GET /page/{id}", s.handle(content.English, short(s.read.PageByID)))
	mux.Handle("GET /sitemap.xml", s.handle(content.English, s.sitemap))
	mux.Handle("GET /robots.txt", s.handle(content.English, s.robots))
	mux.Handle("GET /static/site.css", s.handle(content.English, s.css))
	return mux
}

// page serves a request in lang. If it returns an error, it has written nothing.
type page func(w http.ResponseWriter, r *http.Request, lang content.Lang) error

func (s *site) handle(lang content.Lang, h page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r, lang)
		if errors.Is(err, content.ErrNotFound) {
			err = s.notFound(w, r, lang)
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

func (s *site) css(w http.ResponseWriter, _ *http.Request, _ content.Lang) error {
	b, err := files.ReadFile("static/site.css")
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	call.Send(w, http.StatusOK, "text/css; charset=utf-8", b)
	return nil
}

func (s *site) robots(w http.ResponseWriter, r *http.Request, _ content.Lang) error {
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
	return func(w http.ResponseWriter, r *http.Request, _ content.Lang) error {
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

type words struct {
	Other     content.Lang // the other language
	OtherName string       // its name in that language

	Skip, Navigation, Tags, Archive, Feeds     string
	Newer, Older, PageOf, Published, Updated   string
	Tagged, From, NoPosts, NotFound, NotFound2 string
	Home, By                                   string

	dateLayout, monthLayout string
}

var vocabulary = map[content.Lang]words{
	content.English: {
		Other: content.Chinese, OtherName: "中文",
		Skip: "Skip to content", Navigation: "Main", Tags: "Tags", Archive: "Archive", Feeds: "Feeds",
		Newer: "Newer posts", Older: "Older posts", PageOf: "Page %d of %d", Published: "Published", Updated: "updated",
		Tagged: "Posts tagged “%s”", From: "Posts from %s", NoPosts: "There are no posts yet.",
		NotFound: "Not found", NotFound2: "There is nothing at this address.", Home: "To the home page", By: "by",
		dateLayout: "2 January 2006", monthLayout: "January 2006",
	},
	content.Chinese: {
		Other: content.English, OtherName: "English",
		Skip: "跳到正文", Navigation: "主导航", Tags: "标签", Archive: "归档", Feeds: "订阅",
		Newer: "较新的文章", Older: "较早的文章", PageOf: "第 %d 页，共 %d 页", Published: "发布于", Updated: "更新于",
		Tagged: "标签“%s”下的文章", From: "%s的文章", NoPosts: "还没有文章。",
		NotFound: "未找到", NotFound2: "这个地址下没有内容。", Home: "回到首页", By: "作者",
		dateLayout: "2006年1月2日", monthLayout: "2006年1月",
	},
}

// Date returns t in the form for readers.
func (w words) Date(t time.Time) string { return t.UTC().Format(w.dateLayout) }

// Month returns a month in the form for readers.
func (w words) Month(m string) (string, error) {
	first, err := content.ParseMonth(m)
	return first.Format(w.monthLayout), err
}
