package track_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// busy is a site with a feed of three items, and 30 old pages.
func busy(t *testing.T) *rig {
	t.Helper()
	r := started(t, 30)
	for i := range 3 {
		r.web.add(fmt.Sprintf("/new%d", i), r.now)
		r.listAll()
		r.run()
	}
	return r
}

// again returns a rig on a copy of a closed busy one, because creating one takes four runs.
func (r *rig) again(t *testing.T) *rig {
	t.Helper()
	c := newRig(t)
	c.moveTo(copied(t, r.dir))
	c.now, c.site, c.web.posts = r.now, r.site, maps.Clone(r.web.posts)
	c.listAll()
	return c
}

// close closes the database, so that a test can damage its file.
func (r *rig) close() {
	r.t.Helper()
	if err := r.keeper.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// lostDatabase is S-E12: whatever happens to the database, no item is published again,
// and the feed continues unchanged.
func lostDatabase(t *testing.T) {
	first := busy(t)
	first.close()
	for name, tc := range map[string]struct {
		lose  func(t *testing.T, path string)
		aside int // renamed files
	}{
		"no database": {func(t *testing.T, path string) { overwrite(t, path, []byte("this is not what it was")) }, 1},
		"zeros in it": {func(t *testing.T, path string) { damage(t, path, 0) }, 1},
		"noise in it": {func(t *testing.T, path string) { damage(t, path, 0xa5) }, 1},
		"cut off": {func(t *testing.T, path string) {
			if err := os.Truncate(path, 5*4096+17); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"deleted": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := first.again(t)
			before := r.file("rss.xml")
			tc.lose(t, r.database())
			r.web.pages()
			rep := r.run()
			want(t, "rebuilt", rep.Rebuilt, true)
			want(t, "restored", rep.Restored, 3)
			want(t, "published", rep.Published, 0)
			wantList(t, "pages fetched", r.web.pages())
			want(t, "the feed", r.file("rss.xml"), before)
			want(t, "pages known", r.stats().Pages.Done, 33)
			if aside, _ := filepath.Glob(r.database() + ".corrupt-*[0-9]"); len(aside) != tc.aside {
				t.Errorf("%q were set aside, want %d", aside, tc.aside)
			}
			r.web.add("/after", r.now)
			r.listAll()
			r.run()
			wantList(t, "published in the end", r.published(), "/new0", "/new1", "/new2", "/after")
		})
	}
}

func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// damage overwrites a database except its first page.
func damage(t *testing.T, path string, with byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[4096:], bytes.Repeat([]byte{with}, len(b)))
	overwrite(t, path, b)
}

// copied returns a copy of a folder.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
