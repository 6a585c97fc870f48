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

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/render"
)

// The site has no scripts, frames or forms. Images may come from other hosts.
const csp = "default-src 'none'; style-src 'self'; img-src 'self' https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var templates = parseTemplates("post", "page", "list", "notfound")

// parseTemplates returns the layout and its content for each name.
func parseTemplates(names ...string) map[string]*template.Template {
	layout := template.Must(template.New("layout.html").ParseFS(files, "templates/layout.html"))
	sets := make(map[string]*template.Template)
	for _, name := range names {
		sets[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "templates/"+name+".html"))
	}
	return sets
}

type frame struct {
	Lang        content.Lang
	Say         words
	Site        content.Settings
	Text        content.Text
	Nav         []content.NavItem
	Path        string // of the page, relative to BaseURL
	Title       string // of the page; empty means the site's title
	Description string
}

func (s *site) frame(ctx context.Context, lang content.Lang, path, title, description string) (f frame, err error) {
	f = frame{Lang: lang, Say: vocabulary[lang], Path: path, Title: title}
	if f.Site, err = s.read.Settings(ctx); err != nil {
		return f, err
	}
	f.Text = f.Site.Texts[lang]
	f.Description = cmp.Or(description, f.Text.Description)
	nav, err := s.read.Navigation(ctx)
	for _, n := range nav {
		if n.Lang == lang {
			f.Nav = append(f.Nav, n)
		}
	}
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

func (s *site) post(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	p, err := s.read.PostBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return err
	}
	return s.article(w, r, lang, "post", p)
}

func (s *site) page(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	p, err := s.read.PageBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return err
	}
	return s.article(w, r, lang, "page", content.Post{Body: p.Body, Summary: content.Summary{Title: p.Title, Lang: p.Lang, Slug: p.Slug}})
}

// article renders a text with a template, or redirects to the path in its language.
func (s *site) article(w http.ResponseWriter, r *http.Request, lang content.Lang, kind string, p content.Post) (err error) {
	path := p.Lang.Path("/" + kind + "s/" + p.Slug)
	if p.Lang != lang {
		http.Redirect(w, r, path, http.StatusFound)
		return nil
	}
	a := article{Post: p.Summary}
	if a.frame, err = s.frame(r.Context(), lang, path, p.Title, p.Excerpt); err != nil {
		return err
	}
	if a.Body, err = render.Markdown(p.Body); err != nil {
		return err
	}
	return show(w, http.StatusOK, kind, a)
}

func (s *site) notFound(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	f, err := s.frame(r.Context(), lang, "", vocabulary[lang].NotFound, "")
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

func (s *site) home(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	return s.list(w, r, listing{}, content.Filter{Lang: lang}, lang.Path("/"))
}

func (s *site) tag(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	slug := r.PathValue("tag")
	tags, err := s.read.TagCounts(r.Context(), lang)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tags, func(t content.TagCount) bool { return t.Slug == slug })
	if at < 0 {
		return content.ErrNotFound // a tag without posts has no page
	}
	l := listing{Heading: fmt.Sprintf(vocabulary[lang].Tagged, tags[at].Name), Tags: tags}
	return s.list(w, r, l, content.Filter{Lang: lang, Tag: slug}, lang.Path("/tags/"+slug))
}

func (s *site) month(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	m := r.PathValue("month")
	name, err := vocabulary[lang].Month(m)
	if err != nil {
		return content.ErrNotFound
	}
	l := listing{Heading: fmt.Sprintf(vocabulary[lang].From, name)}
	return s.list(w, r, l, content.Filter{Lang: lang, Month: m}, lang.Path("/months/"+m))
}

func (s *site) list(w http.ResponseWriter, r *http.Request, l listing, f content.Filter, path string) (err error) {
	q := call.AnyQueryOf(r)
	number := q.Page()
	if q.Err() != nil {
		return content.ErrNotFound
	}
	if l.frame, err = s.frame(r.Context(), f.Lang, pagePath(path, number), l.Heading, ""); err != nil {
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
		if l.Tags, err = s.read.TagCounts(r.Context(), f.Lang); err != nil {
			return err
		}
	}
	if l.Months, err = s.read.MonthCounts(r.Context(), f.Lang); err != nil {
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
