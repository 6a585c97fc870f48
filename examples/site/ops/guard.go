package ops

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
)

// policy lets a page have its style sheet and send its forms home, and nothing else.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard lets through what brings the key, and nothing from another site: browsers
// send a Basic password with whatever page asks for a request.
func (h *Handler) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(h.cfg.Key))
	protected := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if h.cfg.OpenMetrics && r.URL.Path == "/metrics" {
			next.ServeHTTP(w, r)
			return
		}
		// Hashes are compared, so that the time it takes says nothing about the key,
		// not even its length.
		got := sha256.Sum256([]byte(keyOf(r)))
		if same := subtle.ConstantTimeCompare(got[:], want[:]) == 1; !same || h.cfg.Key == "" {
			h.refuse(w, r)
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// setHeaders sets what every answer has, whatever it is.
func setHeaders(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer: with that, browsers send forms with "Origin: null", which is
	// all there is to tell by where they come from when the site is not on HTTPS.
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
