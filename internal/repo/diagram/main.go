// Command diagram draws the sequence diagrams of the README. For each text file in its folder it
// writes an SVG beside the file.
//
//	go run ./internal/repo/diagram
//
// A line "actors A | B" names the columns. "A -> B: text" is an arrow, "A --> B: text" a dashed
// arrow, and "A: text" a note on the column. "#" begins a comment.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := draw("internal/repo/diagram"); err != nil {
		fmt.Fprintln(os.Stderr, "diagram:", err)
		os.Exit(1)
	}
}

// draw writes an SVG for each text file of a folder.
func draw(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		svg, err := render(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := os.WriteFile(strings.TrimSuffix(file, ".txt")+".svg", []byte(svg), 0o644); err != nil { //nolint:gosec // a picture for everybody
			return err
		}
	}
	return nil
}
