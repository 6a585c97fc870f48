package call

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
)

// Guard checks the operator's key.
type Guard struct {
	API   *API   // required
	Key   string // empty means that no request has access
	Basic bool   // also accepts the key as the password of HTTP Basic, which browsers prompt for
}

// Has reports whether a request has the key. It compares hashes, so the time reveals nothing.
func (g Guard) Has(r *http.Request) bool {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if _, password, ok := r.BasicAuth(); ok && g.Basic {
		scheme, key = "Bearer", password
	}
	got, want := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(g.Key))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && g.Key != "" && strings.EqualFold(scheme, "Bearer")
}

// Wrap puts the guard in front of next. It forbids caching of all answers.
func (g Guard) Wrap(next http.Handler) http.Handler {
	refusal := &Problem{
		Status: http.StatusUnauthorized, Text: "send the admin key: Authorization: Bearer KEY", Challenge: []string{`Bearer realm="operator"`},
	}
	if g.Basic {
		refusal.Challenge = append(refusal.Challenge, `Basic realm="operator", charset="UTF-8"`)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if g.Has(r) {
			next.ServeHTTP(w, r)
			return
		}
		level := slog.LevelWarn
		if g.Basic && r.Header.Get("Authorization") == "" {
			level = slog.LevelDebug // a browser that has not asked for the password yet
		}
		g.API.Log.Log(r.Context(), level, "request refused: wrong or missing key", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
		g.API.Fail(w, r, refusal)
	})
}
