package report

import (
	"fmt"
	"math"
	"strings"
)

// Goal is one goal and its result.
type Goal struct {
	What    string
	Asked   string  // with its unit, such as "≤ 0.9 ×"
	Limit   float64 // the limit for Reached
	AtLeast bool    // Reached must be at least Limit; otherwise at most
	Reached float64 // NaN: not measured in this run
	Detail  string  // the numbers behind it
	Why     string  // why it is missed, if it is
}

// Met reports whether the goal was reached. It is false if the goal was not measured.
func (g Goal) Met() bool {
	if math.IsNaN(g.Reached) {
		return false
	}
	if g.AtLeast {
		return g.Reached >= g.Limit
	}
	return g.Reached <= g.Limit
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
