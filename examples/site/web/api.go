package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/twofold-go/twofold/examples/site/content"
)

// routeAPI adds the public API, for programs that have a key.
func (s *site) routeAPI(mux *http.ServeMux) {
	for path, h := range map[string]endpoint{
		"/posts":        s.apiPosts,
		"/posts/{slug}": s.apiPost,
		"/pages/{slug}": s.apiPage,
		"/tags":         s.apiTags,
		"/months":       s.apiMonths,
	} {
		mux.Handle("GET /api/v1"+path, s.api(h))
	}
	mux.Handle("/api/v1/", s.api(func(r *http.Request) (any, error) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return nil, &apiError{http.StatusMethodNotAllowed, "the API is read only"}
		}
		return nil, content.ErrNotFound
	}))
}

// endpoint answers a request to the API that has been let in.
type endpoint func(r *http.Request) (any, error)

// apiError is an error that the caller of the API is told of.
type apiError struct {
	status int
	text   string
}

func (e *apiError) Error() string { return e.text }

func (s *site) api(h endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, v, err := http.StatusOK, any(nil), s.allow(r, content.ScopeRead)
		if err == nil {
			v, err = h(r)
		}
		if errors.Is(err, content.ErrNotFound) {
			err = &apiError{http.StatusNotFound, "not found"}
		}
		if e, ok := errors.AsType[*apiError](err); ok {
			if e.status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `ApiKey header="X-API-Key"`)
			}
			status, v, err = e.status, map[string]string{"error": e.text}, nil
		}
		if err == nil {
			err = sendJSON(w, status, v)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// allow returns nil if the request brings a key that is good for scope. Which part
// of a key is wrong it does not tell.
func (s *site) allow(r *http.Request, scope content.Scope) error {
	prefix, secret, ok := content.SplitKey(r.Header.Get("X-API-Key"))
	if !ok {
		return &apiError{http.StatusUnauthorized, "a key is needed in the header X-API-Key"}
	}
	key, err := s.read.APIKeyByPrefix(r.Context(), prefix)
	if err != nil && !errors.Is(err, content.ErrNotFound) {
		return err
	}
	if !key.Matches(secret) || !key.RevokedAt.IsZero() {
		return &apiError{http.StatusUnauthorized, "the key is not known or was revoked"}
	}
	if !key.Allows(scope) {
		return &apiError{http.StatusForbidden, "the key lacks the scope " + string(scope)}
	}
	return nil
}

func sendJSON(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // nobody takes it for a page: see send
	err := e.Encode(v)
	if err == nil {
		send(w, status, "application/json", b.Bytes())
	}
	return err
}
