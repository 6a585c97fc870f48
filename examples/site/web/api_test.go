package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

func TestAPIGolden(t *testing.T) {
	h, svc := small(t)
	_, key, err := svc.CreateAPIKey(t.Context(), service.KeyInput{Label: "L", Scopes: content.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	for file, path := range map[string]string{
		"posts.json": "/posts", "tagged.json": "/posts?tag=r-d", "none.json": "/posts?tag=nope", "post.json": "/posts/first",
		"page.json": "/pages/about", "tags.json": "/tags", "months.json": "/months",
	} {
		w := get(t, h, "/api/v1"+path, "X-API-Key", key)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("GET %s = %d, %v", path, w.Code, w.Header())
		}
		golden(t, file, w.Body.String())
	}
}

func TestAPIKeys(t *testing.T) {
	h, svc := small(t)
	ctx := t.Context()
	create := func(scopes ...content.Scope) (prefix, key string) {
		t.Helper()
		k, key, err := svc.CreateAPIKey(ctx, service.KeyInput{Label: "L", Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return k.Prefix, key
	}
	prefix, good := create(content.ScopeRead)
	_, idle := create()
	revoked, gone := create(content.ScopeRead)
	if err := svc.RevokeAPIKey(ctx, revoked); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		key  string
		want int
	}{
		"good": {good, 200}, "none": {"", 401}, "no secret": {prefix + "_", 401}, "another secret": {prefix + "_x", 401},
		"no prefix": {"_x", 401}, "unknown": {"x_y", 401}, "revoked": {gone, 401}, "no scope": {idle, 403},
		"in small letters": {strings.ToLower(good), 401}, "endless": {strings.Repeat("a", 1000) + "_x", 401},
	} {
		for _, path := range []string{"/posts", "/posts/first", "/pages/about", "/tags", "/months", "/nope"} {
			w := get(t, h, "/api/v1"+path, "X-API-Key", tt.key)
			want := tt.want
			if want == http.StatusOK && path == "/nope" {
				want = http.StatusNotFound
			}
			if w.Code != want || w.Code == http.StatusUnauthorized != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("%s: GET %s = %d, want %d", name, path, w.Code, want)
			}
		}
	}
}
