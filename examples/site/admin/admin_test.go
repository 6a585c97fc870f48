package admin_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/site/admin"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
)

const key = "the admin key"

// console makes calls of the admin API.
type console struct {
	http.Handler
	t     *testing.T
	store *store.Store
	log   strings.Builder
	fail  error // the error of every Publish
}

func newConsole(t *testing.T) *console {
	t.Helper()
	c := &console{t: t, store: sitetest.Seeded(t)}
	svc := service.New(c.store, service.Config{
		Now:     sitetest.Now,
		Publish: func(context.Context, ...events.Event) error { return c.fail },
	})
	c.Handler = admin.New(admin.Config{Store: c.store, Service: svc, Key: key, Log: slog.New(slog.NewTextHandler(&c.log, nil))})
	return c
}

// call makes a call such as "PUT /posts/1" and checks the status. An empty body is not sent.
func (c *console) call(call, body string, want int) string {
	c.t.Helper()
	return c.callAs("Bearer "+key, call, body, want)
}

func (c *console) callAs(authorization, call, body string, want int) string {
	c.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	r := httptest.NewRequestWithContext(c.t.Context(), method, "/admin/api"+path, strings.NewReader(body))
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	if w.Code != want || w.Header().Get("Cache-Control") != "no-store" {
		c.t.Errorf("%s %s = %d, want %d: %s, %v", call, body, w.Code, want, w.Body, w.Header())
	}
	if want == http.StatusUnauthorized && !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer ") {
		c.t.Errorf("%s: the header does not say what is missing", call)
	}
	return w.Body.String()
}

// calls are all calls, with their status for the body {}.
var calls = map[string]int{
	"GET /posts": 200, "POST /posts": 422, "GET /posts/1": 200, "PUT /posts/1": 422, "DELETE /posts/1": 204, "POST /posts/2/publish": 200, "POST /posts/3/withdraw": 200, "POST /posts/4/render": 200,
	"GET /pages": 200, "POST /pages": 422, "GET /pages/1": 200, "PUT /pages/1": 422, "DELETE /pages/1": 204,
	"GET /tags": 200, "POST /tags": 422, "PUT /tags/go": 422, "DELETE /tags/go": 204,
	"GET /settings": 200, "PUT /settings": 422, "GET /navigation": 200, "PUT /navigation": 200,
	"GET /keys": 200, "POST /keys": 422, "PUT /keys/testkey0": 422, "DELETE /keys/testkey0": 204,
	"GET /nope": 404, "PATCH /posts/1": 404, "GET /posts/x": 400, "GET /posts/9999": 404, "PUT /posts/9999": 404, "PUT /posts/0": 400, "PUT /pages/-1": 400, "DELETE /tags/nope": 404,
}

func TestOnlyTheKeyLetsIn(t *testing.T) {
	c := newConsole(t)
	for call := range calls {
		for _, authorization := range []string{
			"", key, "Bearer", "Bearer ", "Bearer " + key + "x", "Bearer " + key[1:], "Basic " + key, "Bearer " + strings.ToUpper(key), "Bearer " + sitetest.APIKey,
		} {
			c.callAs(authorization, call, "{}", http.StatusUnauthorized)
		}
	}
	if strings.Contains(c.log.String(), key) {
		t.Error("the key is in the log")
	}
	c.callAs("bearer "+key, "GET /posts/1", "", http.StatusOK)
}

func TestWithoutAKeyNobodyGetsIn(t *testing.T) {
	s := sitetest.Empty(t)
	c := &console{t: t, Handler: admin.New(admin.Config{Store: s, Service: service.New(s, service.Config{}), Log: slog.New(slog.DiscardHandler)})}
	for _, authorization := range []string{"", "Bearer", "Bearer "} {
		c.callAs(authorization, "GET /posts", "", http.StatusUnauthorized)
	}
}

func TestBodies(t *testing.T) {
	c := newConsole(t)
	const tag = `{"slug": "x", "name": "X"}`
	for _, tt := range []struct {
		body string
		want int
		says string
	}{
		{"", 400, "body: empty, want an object"},
		{"null", 422, "slug"},
		{"[]", 400, "body: a JSON array, want an object"},
		{`{"slug": 1}`, 400, "slug: a JSON number, want a string"},
		{`{"slug": "x", "name": "X", "label": "Y"}`, 400, `unknown field \"label\"`},
		{tag + tag, 400, "continues"},
		{tag + "x", 400, "continues"},
		{`{"slug": "` + strings.Repeat("x", 2<<20) + `"}`, 413, "over 1048576 bytes"},
		{`{"slug": "X", "name": ""}`, 422, `{"field":"name","reason":"is required"}`},
		{tag + "\n", 201, `"slug":"x"`},
		{tag, 422, "slug: is in use"},
	} {
		if got := c.call("POST /tags", tt.body, tt.want); !strings.Contains(got, tt.says) || !json.Valid([]byte(got)) {
			t.Errorf("%.50s: %s, want it to say %s", tt.body, got, tt.says)
		}
	}
}
