package ops_test

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/twofold-go/twofold/examples/site/ops"
)

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// Every page needs the key, and a refusal does not say what was wrong.
func TestAuthentication(t *testing.T) {
	h := handler(t, ops.Config{})
	keyless, err := ops.New(ops.Config{Logger: quiet, Metrics: prometheus.NewRegistry(), Queries: func() int64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		h      http.Handler
		header string
		in     bool
	}{
		{"nothing", h, "", false},
		{"bearer", h, "Bearer " + adminKey, true},
		{"bearer in lower case", h, "bearer " + adminKey, true},
		{"basic", h, basic("anybody", adminKey), true},
		{"basic without a user", h, basic("", adminKey), true},
		{"wrong bearer", h, "Bearer nonsense", false},
		{"empty bearer", h, "Bearer ", false},
		{"wrong password", h, basic("anybody", "nonsense"), false},
		{"empty password", h, basic("anybody", ""), false},
		{"the key as the user", h, basic(adminKey, ""), false},
		{"a key of the same length", h, "Bearer " + strings.ToUpper(adminKey), false},
		{"a password of the same length", h, basic("", strings.ToUpper(adminKey)), false},
		{"a part of the key", h, "Bearer " + adminKey[:len(adminKey)-1], false},
		{"more than the key", h, "Bearer " + adminKey + "x", false},
		{"no scheme", h, adminKey, false},
		{"another scheme", h, "Digest " + adminKey, false},
		{"basic that is no base64", h, "Basic " + adminKey, false},
		{"no key configured, none sent", keyless, "", false},
		{"no key configured, an empty bearer", keyless, "Bearer ", false},
		{"no key configured, an empty password", keyless, basic("", ""), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, target := range []string{
				"GET /_cache", "GET /_cache/", "GET /_cache/responses?tag=a", "POST /_cache/responses",
				"GET /_cache/nothing", "GET /metrics",
			} {
				method, path, _ := strings.Cut(target, " ")
				a := call(t, tt.h, method, path, nil, "Authorization", tt.header)
				if refused := a.status == http.StatusUnauthorized; refused == tt.in {
					t.Errorf("%s = %d, want access: %v", target, a.status, tt.in)
				}
				if a.header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s: Cache-Control: %q", target, a.header.Get("Cache-Control"))
				}
				if !tt.in && (!strings.HasPrefix(a.body, `{"error":"send the admin key`) || len(a.header.Values("WWW-Authenticate")) != 2) {
					t.Errorf("%s was refused with %q, %v", target, a.body, a.header.Values("WWW-Authenticate"))
				}
			}
		})
	}
}

// No key is written to the log, valid or not.
func TestKeysAreNotLogged(t *testing.T) {
	var log strings.Builder
	h := handler(t, ops.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	for _, header := range []string{"Bearer nonsense", basic("u", "nonsense"), "Bearer " + adminKey, ""} {
		call(t, h, http.MethodGet, "/_cache", nil, "Authorization", header)
	}
	for _, secret := range []string{"nonsense", adminKey, "bm9uc2Vuc2U"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, &log)
		}
	}
	if n := strings.Count(log.String(), "refused"); n != 3 {
		t.Errorf("%d refusals were logged, want 3:\n%s", n, &log)
	}
}
