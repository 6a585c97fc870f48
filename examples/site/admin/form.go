package admin

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

//go:embed form.html
var formSource string

var formPage = template.Must(template.New("form").Parse(formSource))

const formCSP = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// form is the page on which an author writes posts.
type form struct {
	ID       int64 // 0 means a new post
	In       service.PostInput
	Said     string // of the write that led here
	Faults   []service.FieldError
	Posts    []content.Summary
	Page     int
	Statuses []content.Status
}

// Older, Newer, Tags and At are for the template.
func (f form) Older() int   { return f.Page + 1 }
func (f form) Newer() int   { return f.Page - 1 }
func (f form) Tags() string { return strings.Join(f.In.Tags, " ") }
func (f form) At() string {
	if f.In.PublishedAt.IsZero() {
		return ""
	}
	return f.In.PublishedAt.Format(time.RFC3339)
}

// NewForm returns the handler of /admin/posts: a plain page for browsers, which send the key as
// the password of HTTP Basic. It refuses forms of other sites.
func NewForm(cfg Config) http.Handler {
	a := newAPI(cfg)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/posts", func(w http.ResponseWriter, r *http.Request) {
		q, f := call.AnyQueryOf(r), form{Said: r.URL.Query().Get("said")}
		if s := q.Text("id"); s != "" {
			p, err := a.Store.AnyPost(r.Context(), int64(q.Number("id", 0, 1, 1<<53)))
			if err = errors.Join(q.Err(), err); err != nil {
				a.calls.Fail(w, r, err)
				return
			}
			f.ID, f.In = p.ID, service.PostInput{
				Slug: p.Slug, Title: p.Title, Summary: p.Excerpt, Body: p.Body, Status: p.Status, PublishedAt: p.PublishedAt,
			}
			for _, t := range p.Tags {
				f.In.Tags = append(f.In.Tags, t.Slug)
			}
		}
		a.show(w, r, http.StatusOK, f)
	})
	mux.Handle("POST /admin/posts", http.NewCrossOriginProtection().Handler(http.HandlerFunc(a.submit)))
	return call.Guard{API: a.calls, Key: a.Key, Basic: true}.Wrap(mux)
}

// submit makes the write of a form through the service, as the APIs do.
func (a *api) submit(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		a.calls.Fail(w, r, call.Bad("body", "want a form of at most 1 MiB"))
		return
	}
	v, ctx := r.PostForm, r.Context()
	f := form{In: service.PostInput{
		Slug: v.Get("slug"), Title: v.Get("title"), Summary: v.Get("summary"), Body: strings.ReplaceAll(v.Get("body"), "\r\n", "\n"),
		Status: content.Status(v.Get("status")), Tags: strings.Fields(v.Get("tags")),
	}}
	var err error
	f.ID, _ = strconv.ParseInt(v.Get("id"), 10, 64) // not a number: a new post
	if at := v.Get("published_at"); at != "" {
		if f.In.PublishedAt, err = time.Parse(time.RFC3339, at); err != nil {
			err = &service.InvalidError{Fields: []service.FieldError{{Field: "published_at", Reason: "must be a time such as 2026-01-02T15:04:05Z"}}}
		}
	}
	if do := v.Get("do"); err == nil {
		switch do {
		case "save":
			_, err = a.Service.SavePost(ctx, f.ID, f.In)
		case "publish":
			_, err = a.Service.PublishPost(ctx, f.ID)
		case "withdraw":
			_, err = a.Service.WithdrawPost(ctx, f.ID)
		case "render":
			_, err = a.Service.RenderPost(ctx, f.ID)
		case "delete":
			err = a.Service.DeletePost(ctx, f.ID)
		default:
			err = call.Bad("do", "%d characters, want save, publish, withdraw, render or delete", len(do))
		}
	}
	said := "Done."
	if e, ok := errors.AsType[*service.InvalidError](err); ok {
		f.Faults = e.Fields
		a.show(w, r, http.StatusUnprocessableEntity, f)
		return
	} else if late, ok := errors.AsType[*service.UnpublishedError](err); ok {
		a.Log.ErrorContext(ctx, "a change was committed but not published", "err", late)
		said = "Done. This process may show the old page for two seconds."
	} else if err != nil {
		a.calls.Fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/admin/posts?said="+template.URLQueryEscaper(said), http.StatusSeeOther)
}

func (a *api) show(w http.ResponseWriter, r *http.Request, status int, f form) {
	f.Page = max(1, call.AnyQueryOf(r).Page())
	f.Statuses = []content.Status{content.Draft, content.Scheduled, content.Published}
	l, err := a.Store.AllPosts(r.Context(), "", content.Window{Number: f.Page, Size: perPage})
	var b bytes.Buffer
	if f.Posts = l.Posts; err == nil {
		err = formPage.Execute(&b, f)
	}
	if err != nil {
		a.calls.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", formCSP)
	w.Header().Set("Referrer-Policy", "same-origin")
	call.Send(w, status, "text/html; charset=utf-8", b.Bytes())
}
