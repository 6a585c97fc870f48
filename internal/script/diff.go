package script

import (
	"fmt"
	"slices"
	"strings"
)

// edit is one line of a comparison: in both (' '), only expected ('-') or only got ('+').
type edit struct {
	op   byte
	line string
}

// compare returns a unified diff of the expected trace, without its notes, and the actual trace;
// empty if they agree.
func compare(expected, got []string) string {
	want := slices.DeleteFunc(slices.Clone(expected), isNote)
	for i := range want {
		want[i] = strings.TrimRight(want[i], " \t")
	}
	if slices.Equal(want, got) {
		return ""
	}
	return unified(edits(want, got))
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

// unified prints edits with three lines around each change.
func unified(all []edit) string {
	const around = 3
	near := func(i int) bool {
		from, to := max(0, i-around), min(len(all), i+around+1)
		return slices.ContainsFunc(all[from:to], func(e edit) bool { return e.op != ' ' })
	}
	var out strings.Builder
	old, fresh, open := 1, 1, false
	for i, e := range all {
		if near(i) {
			if !open {
				fmt.Fprintf(&out, "@@ -%d +%d @@\n", old, fresh)
			}
			fmt.Fprintf(&out, "%c%s\n", e.op, e.line)
			open = true
		} else {
			open = false
		}
		if e.op != '+' {
			old++
		}
		if e.op != '-' {
			fresh++
		}
	}
	return out.String()
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
