package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The SVG files match the texts.
func TestPicturesAreFresh(t *testing.T) {
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v: want two texts", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := render(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got, err := os.ReadFile(strings.TrimSuffix(file, ".txt") + ".svg")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s has changed: run go run ./internal/repo/diagram\n%s", file, diff)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "no line \"actors\"",
		"actors a\na b":           "line 2: \"a b\" has no colon",
		"actors a | b\nc: x":      "line 2: \"c\" is no actor",
		"actors a | b\na -> c: x": "line 2: \"c\" is no actor",
	} {
		if _, err := render(text); err == nil || err.Error() != want {
			t.Errorf("render(%q) = %v, want %s", text, err, want)
		}
	}
}
