package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
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
}

// Table makes the table from the samples of b.
func (c Comparison) Table(b *Book) Table {
	t := Table{Title: c.Title, Note: c.Note, Head: []string{"contender"}}
	for _, s := range c.Settings {
		t.Head = append(t.Head, s+" "+c.Unit, "× "+c.Reference)
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
			row = append(row, Number(b.Median(Line{c.Workload, c.Settings[0], name}, u)))
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

// Goal is one goal and its result.
type Goal struct {
	What    string
	Asked   string  // the limit, such as "≤ 0.9 ×", "≥ 2" or "> 0"; without a sign, at most this number
	Reached float64 // NaN: not measured in this run
	Detail  string  // the numbers behind it
	Why     string  // why it is missed, if it is
}

// Limit returns the number that the goal asks for, and whether the result meets it.
func (g Goal) Limit() (limit float64, met bool, err error) {
	sign, rest, ok := strings.Cut(g.Asked, " ")
	if !ok {
		sign, rest = "≤", g.Asked
	}
	number, _, _ := strings.Cut(strings.ReplaceAll(rest, "−", "-"), " ")
	limit, err = strconv.ParseFloat(strings.TrimSuffix(number, ","), 64)
	switch sign {
	case "≤":
		met = g.Reached <= limit
	case "≥":
		met = g.Reached >= limit
	case ">":
		met = g.Reached > limit
	default:
		err = fmt.Errorf("report: %q asks for no limit", g.Asked)
	}
	return limit, met && err == nil, err
}

// Met reports whether the goal was reached. It is false if the goal was not measured.
func (g Goal) Met() bool {
	_, met, _ := g.Limit() // a goal without a limit is not met
	return met
}

// Goals returns the table of goals and results. It shows missed goals like all others, with the
// reasons below.
func Goals(all []Goal) Table {
	t := Table{Head: []string{"what", "asked", "reached", "", "from"}}
	met, known := 0, 0
	var why []string
	for _, g := range all {
		verdict := "**missed**"
		switch {
		case math.IsNaN(g.Reached):
			verdict = "not measured"
		case g.Met():
			verdict = "yes"
			met++
		}
		if !math.IsNaN(g.Reached) {
			known++
			if !g.Met() && g.Why != "" {
				why = append(why, "- "+g.What+": "+g.Why)
			}
		}
		t.Rows = append(t.Rows, []string{g.What, g.Asked, Number(g.Reached), verdict, g.Detail})
	}
	t.Note = fmt.Sprintf("%d of %d reached.", met, known)
	if len(why) > 0 {
		t.Note += " Why not:\n\n" + strings.Join(why, "\n")
	}
	return t
}
