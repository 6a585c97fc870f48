package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out, filepath.Join(t.TempDir(), "users.db")); err != nil {
		t.Fatal(err)
	}
	const want = "load 42\nuser 42 is Ada\nuser 42 is Ada\nload 42\nuser 42 is Grace\n"
	if out.String() != want {
		t.Errorf("printed:\n%s\nwant:\n%s", out.String(), want)
	}
}
