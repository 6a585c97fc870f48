package report

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// The marks around the part of a file that belongs to this program.
const (
	Begin = "<!-- speed -->"
	End   = "<!-- /speed -->"
)

// ErrMarks says that a file has one mark without the other, or in the wrong
// order, so that nobody can tell what to replace.
var ErrMarks = errors.New("report: want one " + Begin + " before one " + End)

// Replace returns text with what stands between the marks replaced by body.
// Without marks it is put at the end. What stands elsewhere stays as it is.
func Replace(text, body string) (string, error) {
	section := Begin + "\n" + strings.TrimSpace(body) + "\n" + End
	begins, ends := strings.Count(text, Begin), strings.Count(text, End)
	if begins == 0 && ends == 0 {
		if text != "" {
			text = strings.TrimRight(text, "\n") + "\n\n"
		}
		return text + section + "\n", nil
	}
	before, rest, _ := strings.Cut(text, Begin)
	_, after, ok := strings.Cut(rest, End)
	if begins != 1 || ends != 1 || !ok {
		return "", ErrMarks
	}
	return before + section + after, nil
}

// WriteSection puts body between the marks of a file, which need not exist.
func WriteSection(path, body string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("report: %w", err)
	}
	text, err := Replace(string(old), body)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
