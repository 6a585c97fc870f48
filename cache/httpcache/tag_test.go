package httpcache_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
)

// If one tag is invalid, PurgeTags refuses all and purges nothing.
func TestPurgeTags(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { cache.Depend(r.Context(), "a", "b") }, httpcache.Config{})
	s.get(t, "/")
	err := s.c.PurgeTags(t.Context(), "a", "", strings.Repeat("secret", 50))
	if !errors.Is(err, invalidate.ErrScope) || !strings.Contains(err.Error(), "tag 2 of 3") || !strings.Contains(err.Error(), "tag 3 of 3") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if err := s.c.PurgeTags(t.Context()); err != nil || !s.get(t, "/").hit() {
		t.Errorf("purged by nothing: %v", err)
	}
	if err := s.c.PurgeTags(t.Context(), "x", "b"); err != nil || s.get(t, "/").hit() {
		t.Errorf("not purged: %v", err)
	}
	off := serve(t, set("X", "y"), httpcache.Config{Off: true})
	if err := off.c.PurgeTags(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := off.c.PurgeTags(t.Context(), ""); err == nil {
		t.Error("an empty tag is taken")
	}
}
