package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/render"
)

// The site has no scripts, frames or forms. Images may come from other hosts.
const csp = "default-src 'none'; style-src 'self'; img-src 'self' https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const monthName = "January 2006"

var shown = template.FuncMap{
	"date": func(t time.Time) string { return t.UTC().Format("2 January 2006") },
	"month": func(m string) (string, error) {
		first, err := content.ParseMonth(m)
		return first.Format(monthName), err
	},
}

var templates = parseTemplates("post", "page", "list", "notfound")

// parseTemplates returns the layout and its content for each name.
func parseTemplates(names ...string) map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(shown).ParseFS(files, "templates/layout.html"))
	sets := make(map[string]*template.Template)
	for _, name := range names {
		sets[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "templates/"+name+".html"))
	}
	return sets
}

type frame struct {
	Site        content.Settings
	Nav         []content.NavItem
	Path        string // of the page, relative to BaseURL
	Title       string // of the page; empty means the site's title
	Description string
}

func (s *site) frame(ctx context.Context, path, title, description string) (f frame, err error) {
	f = frame{Path: path, Title: title}
	if f.Site, err = s.read.Settings(ctx); err != nil {
		return f, err
	}
	f.Description = cmp.Or(description, f.Site.Description)
	f.Nav, err = s.read.Navigation(ctx)
	return f, err
}

func show(w http.ResponseWriter, status int, name string, data any) error {
	var b bytes.Buffer // a buffer, because a failure must not leave a partial page
	if err := templates[name].ExecuteTemplate(&b, "layout.html", data); err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", csp)
	w.Header().Set("Referrer-Policy", "same-origin")
	call.Send(w, status, "text/html; charset=utf-8", b.Bytes())
	return nil
}

type article struct {
	frame
	Post content.Summary // only for a post
	Body template.HTML
}

func (s *site) post(w http.ResponseWriter, r *http.Request) error {
	p, err := s.read.PostBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return err
	}
	return s.article(w, r, "post", p)
}

func (s *site) page(w http.ResponseWriter, r *http.Request) error {
	p, err := s.read.PageBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return err
	}
	return s.article(w, r, "page", content.Post{Body: p.Body, Summary: content.Summary{Title: p.Title, Slug: p.Slug}})
}

// article renders a text with a template.
func (s *site) article(w http.ResponseWriter, r *http.Request, kind string, p content.Post) (err error) {
	a := article{Post: p.Summary}
	if a.frame, err = s.frame(r.Context(), "/"+kind+"s/"+p.Slug, p.Title, p.Excerpt); err != nil {
		return err
	}
	if a.Body, err = render.Markdown(p.Body); err != nil {
		return err
	}
	return show(w, http.StatusOK, kind, a)
}

func (s *site) notFound(w http.ResponseWriter, r *http.Request) error {
	f, err := s.frame(r.Context(), "", "Not found", "")
	if err != nil {
		return err
	}
	return show(w, http.StatusNotFound, "notfound", f)
}

type listing struct {
	frame
	Heading       string
	Posts         []content.Summary
	Number, Pages int    // the number of this page, and of all pages
	Newer, Older  string // paths of the neighbouring pages, if any
	Tags          []content.TagCount
	Months        []content.MonthCount
}

func (s *site) home(w http.ResponseWriter, r *http.Request) error {
	return s.list(w, r, listing{}, content.Filter{}, "/")
}

func (s *site) tag(w http.ResponseWriter, r *http.Request) error {
	slug := r.PathValue("tag")
	tags, err := s.read.TagCounts(r.Context())
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tags, func(t content.TagCount) bool { return t.Slug == slug })
	if at < 0 {
		return content.ErrNotFound // a tag without posts has no page
	}
	l := listing{Heading: fmt.Sprintf("Posts tagged “%s”", tags[at].Name), Tags: tags}
	return s.list(w, r, l, content.Filter{Tag: slug}, "/tags/"+slug)
}

func (s *site) month(w http.ResponseWriter, r *http.Request) error {
	m := r.PathValue("month")
	first, err := content.ParseMonth(m)
	if err != nil {
		return content.ErrNotFound
	}
	l := listing{Heading: "Posts from " + first.Format(monthName)}
	return s.list(w, r, l, content.Filter{Month: m}, "/months/"+m)
}

func (s *site) list(w http.ResponseWriter, r *http.Request, l listing, f content.Filter, path string) (err error) {
	q := call.AnyQueryOf(r)
	number := q.Page()
	if q.Err() != nil {
		return content.ErrNotFound
	}
	if l.frame, err = s.frame(r.Context(), pagePath(path, number), l.Heading, ""); err != nil {
		return err
	}
	size := l.Site.PostsPerPage
	posts, err := s.read.ListPosts(r.Context(), f, content.Window{Number: number, Size: size})
	if err != nil {
		return err
	}
	// Without posts, only the home page exists.
	if len(posts.Posts) == 0 && (number > 1 || l.Heading != "") {
		return content.ErrNotFound
	}
	l.Posts, l.Number, l.Pages = posts.Posts, number, max(1, pages(posts.Total, size))
	if number > 1 {
		l.Newer = pagePath(path, number-1)
	}
	if number < l.Pages {
		l.Older = pagePath(path, number+1)
	}
	if l.Tags == nil {
		if l.Tags, err = s.read.TagCounts(r.Context()); err != nil {
			return err
		}
	}
	if l.Months, err = s.read.MonthCounts(r.Context()); err != nil {
		return err
	}
	return show(w, http.StatusOK, "list", l)
}

func pagePath(path string, number int) string {
	if number == 1 {
		return path
	}
	return path + "?page=" + strconv.Itoa(number)
}

func pages(total, size int) int { return (total + size - 1) / size }
