package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/site/sitetest"
)

const newPage = `{"slug": "who", "title": "Who", "body": "B", "lang": "en"}`

// apiWrites are the writes of /api/v1, in sequence, with the status for a key with the scope.
var apiWrites = []struct {
	call, body string
	status     int
}{
	{"POST /api/v1/posts", strings.Replace(newPost, "published", "draft", 1), http.StatusCreated},
	{"PUT /api/v1/posts/new", strings.Replace(newPost, "published", "draft", 1), http.StatusOK},
	{"POST /api/v1/posts/new/publish", "", http.StatusOK},
	{"DELETE /api/v1/posts/new", "", http.StatusNoContent},
	{"POST /api/v1/pages", newPage, http.StatusCreated},
	{"PUT /api/v1/pages/who", newPage, http.StatusOK},
	{"DELETE /api/v1/pages/who", "", http.StatusNoContent},
	{"POST /api/v1/tags", `{"slug": "t", "name": "T"}`, http.StatusCreated},
	{"PUT /api/v1/tags/t", `{"slug": "t", "name": "U"}`, http.StatusOK},
	{"DELETE /api/v1/tags/t", "", http.StatusNoContent},
	{"DELETE /api/v1/posts/new", "", http.StatusNotFound},
	{"PUT /api/v1/pages/who", newPage, http.StatusNotFound},
	{"PATCH /api/v1/posts/new", "{}", http.StatusNotFound},
	{"POST /api/v1/posts", `{"slug": "Not one"}`, http.StatusUnprocessableEntity},
	{"POST /api/v1/posts", `{"nope": 1}`, http.StatusBadRequest},
	{"POST /api/v1/posts", `{"body": "` + strings.Repeat("x", 1<<20) + `"}`, http.StatusRequestEntityTooLarge},
	{"POST /api/v1/keys", `{"label": "L"}`, http.StatusNotFound}, // only the admin API has keys
}

// A write needs a key with the scope "write", and that scope alone does not allow reads.
func TestAPIWrites(t *testing.T) {
	v := visit(t, true)
	try := func(call, body, key string) *httptest.ResponseRecorder {
		method, path, _ := strings.Cut(call, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("X-API-Key", key)
		w := httptest.NewRecorder()
		v.ServeHTTP(w, r)
		return w
	}
	keys := map[string]string{}
	for _, scope := range []string{"read", "write"} {
		var made struct{ Key string }
		answer := v.ask("POST /admin/api/keys", fmt.Sprintf(`{"label": "L", "scopes": [%q]}`, scope))
		if err := json.Unmarshal(answer.Body.Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		keys[scope] = made.Key
	}
	for _, tt := range apiWrites {
		for key, want := range map[string]int{
			"": http.StatusUnauthorized, "x_y": http.StatusUnauthorized, keys["read"]: http.StatusForbidden,
		} {
			if w := try(tt.call, tt.body, key); w.Code != want || !strings.Contains(w.Body.String(), `"error"`) {
				t.Errorf("%s with the key %q = %d, want %d: %s", tt.call, key, w.Code, want, w.Body)
			}
		}
		w := try(tt.call, tt.body, keys["write"])
		if w.Code != tt.status || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s = %d, want %d: %s", tt.call, w.Code, tt.status, w.Body)
		}
		if tt.status >= 400 && !strings.Contains(w.Body.String(), `"error"`) {
			t.Errorf("%s = %s, which names no error", tt.call, w.Body)
		}
	}
	if w := try("GET /api/v1/posts", "", keys["write"]); w.Code != http.StatusForbidden {
		t.Errorf("a read with a key for writing = %d", w.Code)
	}
	if w := try("GET /api/v1/posts", "", sitetest.APIKey); w.Code != http.StatusOK {
		t.Errorf("a read = %d", w.Code)
	}
}
