package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

func (a *api) routeTags(mux *http.ServeMux) {
	mux.Handle("GET /admin/api/tags", do(a, func(ctx context.Context, _ *http.Request, _ nothing) (reply, error) {
		tags, err := a.store.Tags(ctx)
		return reply{body: map[string]any{"tags": append([]content.Tag{}, tags...)}}, err
	}))
	mux.Handle("POST /admin/api/tags", do(a, func(ctx context.Context, _ *http.Request, in content.Tag) (reply, error) {
		return reply{http.StatusCreated, in}, a.svc.CreateTag(ctx, in)
	}))
	mux.Handle("PUT /admin/api/tags/{slug}", do(a, func(ctx context.Context, r *http.Request, in content.Tag) (reply, error) {
		return reply{body: in}, a.svc.UpdateTag(ctx, r.PathValue("slug"), in)
	}))
	mux.Handle("DELETE /admin/api/tags/{slug}", do(a, func(ctx context.Context, r *http.Request, _ nothing) (reply, error) {
		return reply{}, a.svc.DeleteTag(ctx, r.PathValue("slug"))
	}))
}

// navigation is the navigation of all languages.
type navigation struct {
	Items []content.NavItem `json:"items"`
}

func (a *api) routeSite(mux *http.ServeMux) {
	mux.Handle("GET /admin/api/settings", do(a, func(ctx context.Context, _ *http.Request, _ nothing) (reply, error) {
		set, err := a.store.Settings(ctx)
		return reply{body: set}, err
	}))
	mux.Handle("PUT /admin/api/settings", do(a, func(ctx context.Context, _ *http.Request, in content.Settings) (reply, error) {
		return reply{body: in}, a.svc.UpdateSettings(ctx, in)
	}))
	mux.Handle("GET /admin/api/navigation", do(a, func(ctx context.Context, _ *http.Request, _ nothing) (reply, error) {
		items, err := a.store.Navigation(ctx)
		return reply{body: navigation{append([]content.NavItem{}, items...)}}, err
	}))
	mux.Handle("PUT /admin/api/navigation", do(a, func(ctx context.Context, _ *http.Request, in navigation) (reply, error) {
		in.Items = append([]content.NavItem{}, in.Items...)
		return reply{body: in}, a.svc.UpdateNavigation(ctx, in.Items)
	}))
}

// apiKey is a key without what only the site needs to know.
type apiKey struct {
	Prefix    string          `json:"prefix"`
	Label     string          `json:"label"`
	Scopes    []content.Scope `json:"scopes"`
	CreatedAt time.Time       `json:"created_at"`
	RevokedAt time.Time       `json:"revoked_at,omitzero"`
	Key       string          `json:"key,omitempty"` // itself: for its owner, once
}

func keyOf(k content.APIKey, key string) apiKey {
	return apiKey{k.Prefix, k.Label, k.Scopes, k.CreatedAt, k.RevokedAt, key}
}

func (a *api) routeKeys(mux *http.ServeMux) {
	mux.Handle("GET /admin/api/keys", do(a, func(ctx context.Context, _ *http.Request, _ nothing) (reply, error) {
		keys, err := a.store.APIKeys(ctx)
		out := []apiKey{}
		for _, k := range keys {
			out = append(out, keyOf(k, ""))
		}
		return reply{body: map[string]any{"keys": out}}, err
	}))
	mux.Handle("POST /admin/api/keys", do(a, func(ctx context.Context, _ *http.Request, in service.KeyInput) (reply, error) {
		k, key, err := a.svc.CreateAPIKey(ctx, in)
		return reply{http.StatusCreated, keyOf(k, key)}, err
	}))
	mux.Handle("PUT /admin/api/keys/{prefix}", do(a, func(ctx context.Context, r *http.Request, in service.KeyInput) (reply, error) {
		k, err := a.svc.UpdateAPIKey(ctx, r.PathValue("prefix"), in)
		return reply{body: keyOf(k, "")}, err
	}))
	mux.Handle("DELETE /admin/api/keys/{prefix}", do(a, func(ctx context.Context, r *http.Request, _ nothing) (reply, error) {
		return reply{}, a.svc.RevokeAPIKey(ctx, r.PathValue("prefix"))
	}))
}
