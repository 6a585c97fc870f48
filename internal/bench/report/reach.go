package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
