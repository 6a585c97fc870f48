package api_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the listings")

// most bounds the number of top-level names of a package.
var most = map[string]int{"invalidate": 45}

func fileOf(dir string) string { return strings.ReplaceAll(dir, "/", ".") + ".txt" }

// A change of a public name shows in a listing.
func TestListing(t *testing.T) {
	dirs := packages(t)
	for _, dir := range dirs {
		got := read(t, dir).listing()
		if *update {
			if err := os.WriteFile(fileOf(dir), []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(fileOf(dir))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("package %s exports something else than internal/repo/api/%s says (-listed +exported):\n%s\n"+
				"If that is meant, run: go test ./internal/repo/api -update", dir, fileOf(dir), diff)
		}
	}
	removeOthers(t, dirs)
}

// removeOthers finds the listings of packages that no longer exist.
func removeOthers(t *testing.T, dirs []string) {
	t.Helper()
	files, err := filepath.Glob("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if slices.ContainsFunc(dirs, func(dir string) bool { return fileOf(dir) == f }) {
			continue
		}
		if *update {
			err := os.Remove(f)
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("internal/repo/api/%s lists a package that no longer exists; run: go test ./internal/repo/api -update", f)
	}
}

// A package that exceeds its bound must lose a name before it gets another.
func TestNumberOfNames(t *testing.T) {
	for dir, bound := range most {
		if n := read(t, dir).top(); n > bound {
			t.Errorf("package %s exports %d names, at most %d: move what users do not need to internal", dir, n, bound)
		}
	}
}

// Every exported name has a doc comment.
func TestDocComments(t *testing.T) {
	for _, dir := range packages(t) {
		for _, n := range read(t, dir).names {
			if !n.doc {
				t.Errorf("%v: %s has no doc comment", n.pos, n.line)
			}
		}
	}
}
