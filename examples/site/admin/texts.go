package admin

import (
	"context"
	"net/http"
	"strconv"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

// perPage is how many posts the list of all has on a page.
const perPage = 50

func (a *api) routePosts(mux *http.ServeMux) {
	mux.Handle("GET /admin/api/posts", do(a, a.listPosts))
	mux.Handle("POST /admin/api/posts", do(a, func(ctx context.Context, _ *http.Request, in service.PostInput) (reply, error) {
		p, err := a.svc.CreatePost(ctx, in)
		return reply{http.StatusCreated, p}, err
	}))
	mux.Handle("GET /admin/api/posts/{id}", one(a, func(ctx context.Context, id int64, _ nothing) (any, error) {
		return a.store.AnyPost(ctx, id)
	}))
	mux.Handle("PUT /admin/api/posts/{id}", one(a, func(ctx context.Context, id int64, in service.PostInput) (any, error) {
		return a.svc.UpdatePost(ctx, id, in)
	}))
	mux.Handle("POST /admin/api/posts/{id}/publish", one(a, func(ctx context.Context, id int64, _ nothing) (any, error) {
		return a.svc.PublishPost(ctx, id)
	}))
	mux.Handle("DELETE /admin/api/posts/{id}", one(a, func(ctx context.Context, id int64, _ nothing) (any, error) {
		return nil, a.svc.DeletePost(ctx, id)
	}))
}

// listPosts lists posts of any status, or of the one in the query.
func (a *api) listPosts(ctx context.Context, r *http.Request, _ nothing) (reply, error) {
	q := r.URL.Query()
	w := content.Window{Number: 1, Size: perPage}
	if s := q.Get("page"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1<<20 {
			return reply{}, &problem{Status: http.StatusBadRequest, Text: "page must be a number from 1"}
		}
		w.Number = n
	}
	l, err := a.store.AllPosts(ctx, content.Status(q.Get("status")), w)
	l.Posts = append([]content.Summary{}, l.Posts...) // [] rather than null
	return reply{body: l}, err
}

func (a *api) routePages(mux *http.ServeMux) {
	mux.Handle("GET /admin/api/pages", do(a, func(ctx context.Context, _ *http.Request, _ nothing) (reply, error) {
		pages, err := a.store.Pages(ctx)
		return reply{body: map[string]any{"pages": append([]content.Page{}, pages...)}}, err
	}))
	mux.Handle("POST /admin/api/pages", do(a, func(ctx context.Context, _ *http.Request, in service.PageInput) (reply, error) {
		p, err := a.svc.CreatePage(ctx, in)
		return reply{http.StatusCreated, p}, err
	}))
	mux.Handle("GET /admin/api/pages/{id}", one(a, func(ctx context.Context, id int64, _ nothing) (any, error) {
		return a.store.PageByID(ctx, id)
	}))
	mux.Handle("PUT /admin/api/pages/{id}", one(a, func(ctx context.Context, id int64, in service.PageInput) (any, error) {
		return a.svc.UpdatePage(ctx, id, in)
	}))
	mux.Handle("DELETE /admin/api/pages/{id}", one(a, func(ctx context.Context, id int64, _ nothing) (any, error) {
		return nil, a.svc.DeletePage(ctx, id)
	}))
}

// one makes a handler of a call about the thing that has the id in the path.
func one[In any](a *api, call func(ctx context.Context, id int64, in In) (any, error)) http.Handler {
	return do(a, func(ctx context.Context, r *http.Request, in In) (reply, error) {
		n, err := id(r)
		if err != nil {
			return reply{}, err
		}
		v, err := call(ctx, n, in)
		return reply{body: v}, err
	})
}
