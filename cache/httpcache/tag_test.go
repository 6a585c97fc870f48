package httpcache_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

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

// The tags of a response remain when it is renewed, and the tags of the 304 are added.
func TestTagsOfARenewal(t *testing.T) {
	for _, tag := range []string{"old", "new"} {
		synctest.Test(t, func(t *testing.T) {
			tags := []string{"old", "new", "other"}
			o := &origin{script: [][]string{
				{"Cache-Control", "max-age=5", "ETag", `"v1"`},
				{"Cache-Control", "max-age=5", "ETag", `"v1"`, ":status", "304"},
				{"Cache-Control", "max-age=5"},
			}}
			s := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				cache.Depend(r.Context(), tags[o.asked()])
				o.ServeHTTP(w, r)
			}), httpcache.Config{})
			s.get(t, "/")
			sleep(t, "6s")
			if a := s.get(t, "/"); a.body != "body 1" || o.asked() != 2 {
				t.Error(a)
			}
			if err := s.c.PurgeTags(t.Context(), tag); err != nil {
				t.Error(err)
			}
			if a := s.get(t, "/"); a.body != "body 3" {
				t.Errorf("purged by %q: %v", tag, a)
			}
		})
	}
}
