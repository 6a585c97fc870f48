package upgrade_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
)

// The files of testdata were made by these commits, with a part of their sample posts.
func TestSite(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	sitetest.Open(t, fresh)
	for version, posts := range map[string]int{"41b6d4d": 8, "f4a1850": 5} {
		t.Run(version, func(t *testing.T) {
			path := restore(t, filepath.Join("../../../site/store/testdata", version+".sql"))
			s := sitetest.Open(t, path)
			all, err := s.AllPosts(t.Context(), "", content.Window{Number: 1, Size: 100})
			if err != nil || all.Total != posts || len(all.Posts) != posts || all.Posts[posts-1].Title == "" || len(all.Posts[posts-1].Tags) == 0 {
				t.Errorf("AllPosts = %+v, %v, want %d posts", all, err, posts)
			}
			if set, err := s.Settings(t.Context()); err != nil || cmp.Equal(set, content.Settings{}) {
				t.Errorf("Settings = %+v, %v", set, err)
			}
			if err := s.Write(t.Context(), func(tx *store.Tx) error {
				return tx.SaveTag(t.Context(), 0, content.Tag{Slug: "x-new", Name: "X"})
			}); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(schema(t, fresh), schema(t, path)); diff != "" {
				t.Errorf("schema (-new +upgraded)\n%s", diff)
			}
		})
	}
}
