package ops

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
)

// policy lets a page have its style sheet, and nothing else.
const policy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard lets through what brings the key.
func (h *Handler) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if open := h.cfg.OpenMetrics && r.URL.Path == "/metrics"; !open && !h.hasKey(r) {
			h.refuse(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hasKey reports whether a request brings the key.
func (h *Handler) hasKey(r *http.Request) bool {
	// Hashes are compared, so that the time it takes says nothing about the key, not even
	// its length.
	got, want := sha256.Sum256([]byte(keyOf(r))), sha256.Sum256([]byte(h.cfg.Key))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && h.cfg.Key != ""
}

// setHeaders sets what every answer has, whatever it is.
func setHeaders(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
}

// keyOf returns the key that a request brings, or "".
func keyOf(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return key
}

// refuse answers what does not bring the key, and does not say what was wrong.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request) {
	level := slog.LevelWarn
	if r.Header.Get("Authorization") == "" {
		level = slog.LevelDebug // a browser that does not know yet
	}
	h.cfg.Logger.Log(r.Context(), level, "operator's request refused", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
	w.Header()["Www-Authenticate"] = []string{`Basic realm="operator", charset="UTF-8"`, `Bearer realm="operator"`}
	http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
}
