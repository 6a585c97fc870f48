package script

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// edit is one line of a comparison: in both (' '), only expected ('-') or only got ('+').
type edit struct {
	op   byte
	line string
}

// compare returns what differs between the expected trace, without its notes, and the actual trace;
// empty if they agree.
func compare(expected, got []string) string {
	want := slices.DeleteFunc(slices.Clone(expected), isNote)
	for i := range want {
		want[i] = strings.TrimRight(want[i], " \t")
	}
	return cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// edits aligns a and b on a longest common subsequence. Stories are short, so the simple quadratic
// table is enough.
func edits(a, b []string) []edit {
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if x == y {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	var out []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			out = append(out, edit{'-', a[i]})
			i++
		default:
			out = append(out, edit{'+', b[j]})
			j++
		}
	}
	return out
}

// merge returns got with the notes of expected at their former places.
func merge(expected, got []string) []string {
	want := slices.DeleteFunc(slices.Clone(expected), isNote)
	var out []string
	rest := expected
	notes := func() {
		for len(rest) > 0 && isNote(rest[0]) {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	for _, e := range edits(want, got) {
		if e.op != '+' {
			notes()
			rest = rest[1:]
		}
		if e.op != '-' {
			out = append(out, e.line)
		}
	}
	notes()
	return out
}
