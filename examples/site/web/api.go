package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/render"
)

func (s *site) api() http.Handler {
	mux := http.NewServeMux()
	for path, f := range map[string]func(*http.Request, call.None) (any, error){
		"GET /api/v1/posts":        s.apiPosts,
		"GET /api/v1/posts/{slug}": s.apiPost,
		"GET /api/v1/pages/{slug}": s.apiPage,
		"GET /api/v1/tags":         counted("tags", s.read.TagCounts),
		"GET /api/v1/months":       counted("months", s.read.MonthCounts),
		"/api/v1/":                 func(*http.Request, call.None) (any, error) { return nil, content.ErrNotFound },
	} {
		mux.Handle(path, call.Do(s.calls, f))
	}
	return mux
}

const keyHeader = "X-API-Key"

// keyed checks the key of a request, and removes it, because no answer depends on it.
func (s *site) keyed(reads, writes http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scope, next := content.ScopeWrite, writes
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			scope, next = content.ScopeRead, reads
		}
		err := s.allow(r, scope)
		if err != nil || scope == content.ScopeWrite {
			w.Header().Set("Cache-Control", "no-store")
		}
		if err != nil {
			s.calls.Fail(w, r, err)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Del(keyHeader)
		next.ServeHTTP(w, r)
	})
}

// allow checks that the request's key has the scope. The error does not say what is wrong with a
// key.
func (s *site) allow(r *http.Request, scope content.Scope) error {
	unknown := &call.Problem{Status: http.StatusUnauthorized, Challenge: []string{`ApiKey header="` + keyHeader + `"`}}
	prefix, secret, ok := content.SplitKey(r.Header.Get(keyHeader))
	if !ok {
		unknown.Text = "send a key in the header " + keyHeader
		return unknown
	}
	key, err := s.read.APIKeyByPrefix(r.Context(), prefix)
	if err != nil && !errors.Is(err, content.ErrNotFound) {
		return err
	}
	if !key.Matches(secret) || !key.RevokedAt.IsZero() {
		unknown.Text = "the key is unknown or was revoked"
		return unknown
	}
	if !key.Allows(scope) {
		return &call.Problem{Status: http.StatusForbidden, Text: "the key lacks the scope " + string(scope)}
	}
	return nil
}

type (
	apiSummary struct {
		URL string `json:"url"`
		content.Summary
	}
	apiPost struct {
		URL string `json:"url"`
		content.Post
		HTML string `json:"html"`
	}
	apiPage struct {
		URL string `json:"url"`
		content.Page
		HTML string `json:"html"`
	}
	apiList struct {
		Posts []apiSummary `json:"posts"`
		Page  int          `json:"page"`
		Pages int          `json:"pages"`
		Total int          `json:"total"`
	}
)

func (s *site) apiPost(r *http.Request, _ call.None) (any, error) {
	p, err := s.read.PostBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return nil, err
	}
	url, html, err := s.shown(r.Context(), p.Path(), p.Body)
	return apiPost{url, p, html}, err
}

func (s *site) apiPage(r *http.Request, _ call.None) (any, error) {
	p, err := s.read.PageBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return nil, err
	}
	url, html, err := s.shown(r.Context(), p.Path(), p.Body)
	return apiPage{url, p, html}, err
}

func (s *site) shown(ctx context.Context, path, body string) (url, html string, err error) {
	set, err := s.read.Settings(ctx)
	if err != nil {
		return "", "", err
	}
	out, err := render.Markdown(body)
	return set.BaseURL + path, string(out), err
}

func (s *site) apiPosts(r *http.Request, _ call.None) (any, error) {
	f, number, err := listQuery(call.AnyQueryOf(r))
	if err != nil {
		return nil, err
	}
	set, err := s.read.Settings(r.Context())
	if err != nil {
		return nil, err
	}
	l, err := s.read.ListPosts(r.Context(), f, content.Window{Number: number, Size: set.PostsPerPage})
	out := apiList{Posts: []apiSummary{}, Page: number, Pages: pages(l.Total, set.PostsPerPage), Total: l.Total}
	for _, p := range l.Posts {
		out.Posts = append(out.Posts, apiSummary{set.BaseURL + p.Path(), p})
	}
	return out, err
}

func counted[T any](name string, of func(context.Context) ([]T, error)) func(*http.Request, call.None) (any, error) {
	return func(r *http.Request, _ call.None) (any, error) {
		all, err := of(r.Context())
		return call.List(name, all, err)
	}
}

func listQuery(q *call.Query) (f content.Filter, number int, err error) {
	f = content.Filter{Tag: q.Text("tag"), Month: q.Text("month")}
	if f.Month != "" {
		if _, err := content.ParseMonth(f.Month); err != nil {
			q.Fault("month", "%v", err)
		}
	}
	number = q.Page()
	return f, number, q.Err()
}
