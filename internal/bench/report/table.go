package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Table is a Markdown table with a title and a note.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Note  string
}

// Markdown formats the table.
func (t Table) Markdown() string {
	var b strings.Builder
	if t.Title != "" {
		b.WriteString("### " + t.Title + "\n\n")
	}
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.Head)
	line(slices.Repeat([]string{"---"}, len(t.Head)))
	for _, r := range t.Rows {
		line(r)
	}
	if t.Note != "" {
		b.WriteString("\n" + t.Note + "\n")
	}
	return b.String()
}

// Comparison is a table of medians and their ratios to a contender of the same run.
type Comparison struct {
	Title, Note string
	Workload    string
	Settings    []string // columns
	Contenders  []string // rows; those without samples are left out
	Reference   string   // the contender with ratio 1
	Unit        string
	More        []string // units of further columns, without ratios, under the first setting
	Alone       bool     // the only setting is in the title, and further columns have ranges
}

// Table makes the table from the samples of b.
func (c Comparison) Table(b *Book) Table {
	t := Table{Title: c.Title, Note: c.Note, Head: []string{"contender"}}
	for _, s := range c.Settings {
		if s += " " + c.Unit; c.Alone {
			s = c.Unit
		}
		t.Head = append(t.Head, s, "× "+c.Reference)
	}
	t.Head = append(t.Head, c.More...)
	for _, name := range c.Contenders {
		row, sampled := []string{name}, false
		for _, s := range c.Settings {
			values := b.Values(Line{c.Workload, s, name}, c.Unit)
			sampled = sampled || len(values) > 0
			base := b.Median(Line{c.Workload, s, c.Reference}, c.Unit)
			row = append(row, Spread(values), Ratio(Median(values), base))
		}
		for _, u := range c.More {
			values := b.Values(Line{c.Workload, c.Settings[0], name}, u)
			if c.Alone {
				row = append(row, Spread(values))
			} else {
				row = append(row, Number(Median(values)))
			}
		}
		if sampled {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// Spread formats the median of values and, if they differ, their range. With six samples, the range
// contains the true median with a probability of 97 %.
func Spread(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	lo, hi := Number(slices.Min(values)), Number(slices.Max(values))
	if lo == hi {
		return lo
	}
	return Number(Median(values)) + " (" + lo + "–" + hi + ")"
}

// Ratio formats a quotient.
func Ratio(a, b float64) string {
	if math.IsNaN(a) || math.IsNaN(b) || b == 0 {
		return "–"
	}
	return Number(a / b)
}

// Number formats a number with meaningful digits only.
func Number(f float64) string {
	switch a := math.Abs(f); {
	case math.IsNaN(f), math.IsInf(f, 0):
		return "–"
	case a >= 100:
		return fmt.Sprintf("%.0f", f)
	case a >= 10:
		return trim(fmt.Sprintf("%.1f", f))
	case a >= 0.095 || a == 0:
		return trim(fmt.Sprintf("%.2f", f))
	}
	return fmt.Sprintf("%.2g", f)
}

func trim(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") }
