package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// A path that is too long for a cache key is not found, and a log line has only a part of it.
func TestLongPaths(t *testing.T) {
	for _, uncached := range []bool{false, true} {
		var lines bytes.Buffer
		s, err := newSite(sitetest.Seeded(t), siteConfig{adminKey: "k", uncached: uncached, log: newLogger(&lines)})
		if err != nil {
			t.Fatal(err)
		}
		v := &visitor{t: t, site: s}
		long := strings.Repeat("x", 6000)
		for call, want := range map[string]int{
			"GET /posts/" + long:                        http.StatusNotFound,
			"GET /zh/pages/" + long:                     http.StatusNotFound,
			"GET /tags/" + long:                         http.StatusNotFound,
			"GET /months/" + long:                       http.StatusNotFound,
			"GET /p/" + long:                            http.StatusNotFound,
			"GET /p/" + strings.Repeat("1", 6000):       http.StatusNotFound,
			"GET /?page=" + long:                        http.StatusNotFound,
			"GET /" + long:                              http.StatusNotFound,
			"GET /api/v1/posts/" + long:                 http.StatusNotFound,
			"GET /api/v1/pages/" + long:                 http.StatusNotFound,
			"GET /api/v1/posts?tag=" + long:             http.StatusOK, // an empty list
			"GET /api/v1/posts?month=" + long:           http.StatusBadRequest,
			"DELETE /api/v1/posts/" + long:              http.StatusNotFound,
			"GET /api/v1/tags?lang=" + long:             http.StatusBadRequest,
			"GET /posts/" + strings.Repeat("%ff", 2000): http.StatusNotFound,
		} {
			if w := v.raw(call, ""); w.Code != want {
				t.Errorf("%s = %d, want %d (without the caches: %t)", call[:30], w.Code, want, uncached)
			}
		}
		v.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/admin/api/"+long, http.NoBody))
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(lines.String()) {
			if len(line) > 2000 {
				t.Errorf("a log line has %d bytes: %.200s", len(line), line)
			}
		}
		if !strings.Contains(lines.String(), "request refused") {
			t.Error("the refusal is not in the log")
		}
	}
}

// A value in a log line has a bounded length, whatever its type.
func TestLogLinesAreBounded(t *testing.T) {
	var lines bytes.Buffer
	log := newLogger(&lines)
	long := strings.Repeat("界", 4000)
	log.Info(long, "text", long, "err", &strings.Builder{}, "error", http.ErrAbortHandler)
	log.With("with", long).WithGroup("g").Warn("m", slog.String("s", long), slog.Any("err", context.DeadlineExceeded))
	for line := range strings.Lines(lines.String()) {
		if len(line) > 2000 {
			t.Errorf("a log line has %d bytes", len(line))
		}
	}
}
