package explore

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTooLarge means that there are more states than the exploration may visit.
var ErrTooLarge = errors.New("explore: too many states")

// Result is the result of an exploration.
type Result struct {
	States int            // distinct states reached
	Depth  int            // steps to the farthest of them
	Taken  map[string]int // how often each step was taken, by its text
	Trace  *Trace         // a shortest trace to a violation; nil: none
}

// Run visits every state that the model can reach, nearest first, until one violates the guarantee
// or none is left. Beyond limit states it fails with [ErrTooLarge].
func Run(m Model, limit int) (Result, error) {
	v := visited{seen: make(map[state]bool)}
	v.add(m.start(), -1)
	res := Result{Taken: make(map[string]int)}
	var edges []edge
	for at, levelEnd := 0, 1; at < len(v.states); at++ {
		if at == levelEnd {
			res.Depth, levelEnd = res.Depth+1, len(v.states)
		}
		s := v.states[at]
		edges = m.next(&s, edges[:0])
		for _, e := range edges {
			res.Taken[e.what]++
			if v.add(e.to, at) && e.to.bad {
				res.States, res.Trace = len(v.states), v.trace(&m)
				return res, nil
			}
		}
		if len(v.states) > limit {
			return res, fmt.Errorf("%w: more than %d", ErrTooLarge, limit)
		}
	}
	res.States = len(v.states)
	return res, nil
}

// visited is the set of reached states, in the order in which they were reached.
type visited struct {
	states []state
	from   []int // index of the state before; -1: the start
	seen   map[state]bool
}

// add adds s and reports whether it is new.
func (v *visited) add(s state, from int) bool {
	if v.seen[s] {
		return false
	}
	v.seen[s] = true
	v.states, v.from = append(v.states, s), append(v.from, from)
	return true
}

// Trace is a path from a start to a violation.
type Trace struct {
	Start string
	Steps []Step
}

// Step is one step of a trace.
type Step struct {
	Who, What string
	Changed   string // the facts that it has changed
}

// trace walks back from the last state and then names each step of the path.
func (v *visited) trace(m *Model) *Trace {
	var way []int
	for at := len(v.states) - 1; at >= 0; at = v.from[at] {
		way = append(way, at)
	}
	t := &Trace{Start: v.states[way[len(way)-1]].String()}
	for i := len(way) - 1; i > 0; i-- {
		from, to := &v.states[way[i]], &v.states[way[i-1]]
		for _, e := range m.next(from, nil) {
			if e.to == *to {
				t.Steps = append(t.Steps, Step{Who: e.who, What: e.what, Changed: changes(from, to)})
				break
			}
		}
	}
	return t
}

// String prints a trace, one step to a line.
func (t *Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%3d  %s\n", 0, t.Start)
	for i, s := range t.Steps {
		fmt.Fprintf(&b, "%3d  %-13s %-62s %s\n", i+1, s.Who, s.What, s.Changed)
	}
	return b.String()
}
