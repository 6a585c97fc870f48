package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/twofold-go/twofold/examples/site/content"
)

// api returns the handler of the public API, for whoever has been let in.
func (s *site) api() http.Handler {
	mux := http.NewServeMux()
	for path, h := range map[string]endpoint{
		"/posts":        s.apiPosts,
		"/posts/{slug}": s.apiPost,
		"/pages/{slug}": s.apiPage,
		"/tags":         s.apiTags,
		"/months":       s.apiMonths,
	} {
		mux.Handle("GET /api/v1"+path, s.endpoint(h))
	}
	mux.Handle("/api/v1/", s.endpoint(func(r *http.Request) (any, error) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return nil, &apiError{http.StatusMethodNotAllowed, "the API is read only"}
		}
		return nil, content.ErrNotFound
	}))
	return mux
}

// keyHeader is where programs put their key.
const keyHeader = "X-API-Key"

// keyed lets programs in that have a key. What they are answered then does not
// depend on it, and next does not see it.
func (s *site) keyed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.allow(r, content.ScopeRead); err != nil {
			s.answer(w, r, nil, err)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Del(keyHeader)
		next.ServeHTTP(w, r)
	})
}

// endpoint answers a request to the API that has been let in.
type endpoint func(r *http.Request) (any, error)

// apiError is an error that the caller of the API is told of.
type apiError struct {
	status int
	text   string
}

func (e *apiError) Error() string { return e.text }

func (s *site) endpoint(h endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := h(r)
		s.answer(w, r, v, err)
	})
}

// answer sends what an endpoint returned.
func (s *site) answer(w http.ResponseWriter, r *http.Request, v any, err error) {
	status := http.StatusOK
	if errors.Is(err, content.ErrNotFound) {
		err = &apiError{http.StatusNotFound, "not found"}
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		if e.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `ApiKey header="`+keyHeader+`"`)
		}
		status, v, err = e.status, map[string]string{"error": e.text}, nil
	}
	if err == nil {
		err = sendJSON(w, status, v)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// allow returns nil if the request brings a key that is good for scope. Which part
// of a key is wrong it does not tell.
func (s *site) allow(r *http.Request, scope content.Scope) error {
	prefix, secret, ok := content.SplitKey(r.Header.Get(keyHeader))
	if !ok {
		return &apiError{http.StatusUnauthorized, "a key is needed in the header " + keyHeader}
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
