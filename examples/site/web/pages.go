package web

import (
	"bytes"
	"cmp"
	"context"
	"html/template"
	"net/http"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/render"
)

// Scripts, frames and forms have no place on the site; images may come from others.
const csp = "default-src 'none'; style-src 'self'; img-src 'self' https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var templates = parseTemplates("post", "page", "list", "notfound")

// parseTemplates returns a set for each name: the layout, and what fills it.
func parseTemplates(names ...string) map[string]*template.Template {
	layout := template.Must(template.New("layout.html").ParseFS(files, "templates/layout.html"))
	sets := make(map[string]*template.Template)
	for _, name := range names {
		sets[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "templates/"+name+".html"))
	}
	return sets
}

// frame is what all pages have around them.
type frame struct {
	Lang        content.Lang
	Say         words
	Site        content.Settings
	Text        content.Text
	Nav         []content.NavItem
	Path        string // of the page, below BaseURL
	Title       string // of the page; empty: the site's
	Description string
}

// frame returns what is around a page of lang.
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

// show renders a template and sends it.
func show(w http.ResponseWriter, status int, name string, data any) error {
	var b bytes.Buffer // so that a failure is not half a page
	if err := templates[name].ExecuteTemplate(&b, "layout.html", data); err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", csp)
	w.Header().Set("Referrer-Policy", "same-origin")
	send(w, status, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// article is a page with one text on it.
type article struct {
	frame
	Post content.Summary // of a post
	Body template.HTML
}

func (s *site) post(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	p, err := s.read.PostBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return err
	}
	if p.Lang != lang {
		http.Redirect(w, r, p.Path(), http.StatusFound)
		return nil
	}
	a := article{Post: p.Summary}
	if a.frame, err = s.frame(r.Context(), lang, p.Path(), p.Title, p.Excerpt); err != nil {
		return err
	}
	if a.Body, err = render.Markdown(p.Body); err != nil {
		return err
	}
	return show(w, http.StatusOK, "post", a)
}

func (s *site) page(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	p, err := s.read.PageBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return err
	}
	if p.Lang != lang {
		http.Redirect(w, r, p.Path(), http.StatusFound)
		return nil
	}
	var a article
	if a.frame, err = s.frame(r.Context(), lang, p.Path(), p.Title, ""); err != nil {
		return err
	}
	if a.Body, err = render.Markdown(p.Body); err != nil {
		return err
	}
	return show(w, http.StatusOK, "page", a)
}

// notFound says that there is nothing, or nothing that the public may see.
func (s *site) notFound(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	f, err := s.frame(r.Context(), lang, "", vocabulary[lang].NotFound, "")
	if err != nil {
		return err
	}
	return show(w, http.StatusNotFound, "notfound", f)
}
