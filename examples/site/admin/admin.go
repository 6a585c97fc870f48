// Package admin is the JSON API under /admin/api/, and the writes of /api/v1. It reads from
// the store, never from a cache, and writes through package service.
package admin

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/store"
)

const perPage = 50

// Config configures the APIs.
type Config struct {
	Store   *store.Store     // required
	Service *service.Service // required
	Key     string           // that a request must send as a bearer token; empty means that no request has access
	Log     *slog.Logger     // for failures and refusals. Nil means slog.Default
}

type api struct {
	Config
	*http.ServeMux
	calls *call.API
}

func explain(err error) *call.Problem {
	if e, ok := errors.AsType[*service.InvalidError](err); ok {
		return &call.Problem{Status: http.StatusUnprocessableEntity, Text: err.Error(), Fields: e.Fields}
	}
	if _, ok := errors.AsType[*service.UnpublishedError](err); ok {
		return &call.Problem{Status: http.StatusAccepted, Text: "a change was committed but not published"}
	}
	if errors.Is(err, content.ErrNotFound) {
		return call.NotFound
	}
	return nil
}

func newAPI(cfg Config) *api {
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	a := &api{cfg, http.NewServeMux(), &call.API{Log: cfg.Log, Explain: explain}}
	route(a, "/", func(*http.Request, call.None) (any, error) {
		return nil, &call.Problem{Status: http.StatusNotFound, Text: "no such call"}
	})
	return a
}

// New returns the handler of /admin/api/.
func New(cfg Config) http.Handler {
	a := newAPI(cfg)
	a.writes("/admin/api", func(store.Table) find[int64] { return byID })
	a.site()
	return call.Guard{API: a.calls, Key: a.Key}.Wrap(a)
}

// NewWrites returns the handler of the writes of /api/v1, which use slugs. It checks no key.
func NewWrites(cfg Config) http.Handler {
	a := newAPI(cfg)
	a.writes("/api/v1", func(of store.Table) find[int64] {
		return func(r *http.Request) (int64, error) { return a.Store.ID(r.Context(), of, r.PathValue("id")) }
	})
	return a
}

func (a *api) writes(base string, it func(of store.Table) find[int64]) {
	s, post, page := a.Service, it(store.Posts), it(store.Pages)
	route(a, "POST "+base+"/posts", create(s.SavePost))
	route(a, "PUT "+base+"/posts/{id}", replace(post, s.SavePost))
	route(a, "POST "+base+"/posts/{id}/publish", get(post, s.PublishPost))
	route(a, "POST "+base+"/posts/{id}/withdraw", get(post, s.WithdrawPost))
	route(a, "POST "+base+"/posts/{id}/render", get(post, s.RenderPost))
	route(a, "DELETE "+base+"/posts/{id}", remove(post, s.DeletePost))
	route(a, "POST "+base+"/pages", create(s.SavePage))
	route(a, "PUT "+base+"/pages/{id}", replace(page, s.SavePage))
	route(a, "DELETE "+base+"/pages/{id}", remove(page, s.DeletePage))
	route(a, "POST "+base+"/tags", create(func(ctx context.Context, _ int64, t content.Tag) (content.Tag, error) { return t, s.CreateTag(ctx, t) }))
	route(a, "PUT "+base+"/tags/{id}", replace(byName, func(ctx context.Context, slug string, t content.Tag) (content.Tag, error) {
		return t, s.UpdateTag(ctx, slug, t)
	}))
	route(a, "DELETE "+base+"/tags/{id}", remove(byName, s.DeleteTag))
}

func (a *api) listPosts(r *http.Request, _ call.None) (any, error) {
	q := call.QueryOf(r, "page", "status")
	status, number := content.Status(q.Text("status")), q.Page()
	if status != "" && !slices.Contains(content.Statuses, status) {
		q.Fault("status", "%d characters, want one of %v", len(status), content.Statuses)
	}
	if q.Err() != nil {
		return nil, q.Err()
	}
	l, err := a.Store.AllPosts(r.Context(), status, content.Window{Number: number, Size: perPage})
	l.Posts = append([]content.Summary{}, l.Posts...) // [], not null
	return l, err
}

type navigation struct {
	Items []content.NavItem `json:"items"`
}

// newKey is a new key with its secret, which is shown only once.
type newKey struct {
	content.APIKey
	Key string `json:"key"`
}

// site routes all reads, and the writes of settings, navigation and keys.
func (a *api) site() {
	s := a.Service
	route(a, "GET /admin/api/posts", a.listPosts)
	route(a, "GET /admin/api/posts/{id}", get(byID, a.Store.AnyPost))
	route(a, "GET /admin/api/pages", all("pages", a.Store.Pages))
	route(a, "GET /admin/api/pages/{id}", get(byID, a.Store.PageByID))
	route(a, "GET /admin/api/tags", all("tags", a.Store.Tags))
	route(a, "GET /admin/api/settings", func(r *http.Request, _ call.None) (any, error) { return a.Store.Settings(r.Context()) })
	route(a, "PUT /admin/api/settings", func(r *http.Request, in content.Settings) (any, error) {
		return in, s.UpdateSettings(r.Context(), in)
	})
	route(a, "GET /admin/api/navigation", all("items", a.Store.Navigation))
	route(a, "PUT /admin/api/navigation", func(r *http.Request, in navigation) (any, error) {
		in.Items = append([]content.NavItem{}, in.Items...)
		return in, s.UpdateNavigation(r.Context(), in.Items)
	})
	route(a, "GET /admin/api/keys", all("keys", a.Store.APIKeys))
	route(a, "POST /admin/api/keys", create(func(ctx context.Context, _ int64, in service.KeyInput) (newKey, error) {
		k, key, err := s.CreateAPIKey(ctx, in)
		return newKey{k, key}, err
	}))
	route(a, "PUT /admin/api/keys/{id}", replace(byName, s.UpdateAPIKey))
	route(a, "DELETE /admin/api/keys/{id}", remove(byName, s.RevokeAPIKey))
}

// find returns the thing that {id} in the path of a request identifies.
type find[K any] func(r *http.Request) (K, error)

func byID(r *http.Request) (int64, error) { return call.ID(r, "id") }

func byName(r *http.Request) (string, error) { return r.PathValue("id"), nil }

func route[In any](a *api, pattern string, f func(r *http.Request, in In) (any, error)) {
	a.Handle(pattern, call.Do(a.calls, f))
}

// create calls a method that creates something. It passes 0 as the id.
func create[In, Out any](method func(context.Context, int64, In) (Out, error)) func(*http.Request, In) (any, error) {
	return func(r *http.Request, in In) (any, error) {
		v, err := method(r.Context(), 0, in)
		return call.Created{Body: v}, err
	}
}

// replace calls a method on the thing in the path, with the body of the request.
func replace[K, In, Out any](it find[K], method func(context.Context, K, In) (Out, error)) func(*http.Request, In) (any, error) {
	return func(r *http.Request, in In) (any, error) {
		k, err := it(r)
		if err != nil {
			return nil, err
		}
		return method(r.Context(), k, in)
	}
}

func get[K, Out any](it find[K], method func(context.Context, K) (Out, error)) func(*http.Request, call.None) (any, error) {
	return replace(it, func(ctx context.Context, k K, _ call.None) (Out, error) { return method(ctx, k) })
}

func remove[K any](it find[K], method func(context.Context, K) error) func(*http.Request, call.None) (any, error) {
	return get(it, func(ctx context.Context, k K) (any, error) { return nil, method(ctx, k) })
}

// all calls a method that lists things. An empty list is [], not null.
func all[T any](name string, method func(context.Context) ([]T, error)) func(*http.Request, call.None) (any, error) {
	return func(r *http.Request, _ call.None) (any, error) {
		v, err := method(r.Context())
		return call.List(name, v, err)
	}
}
