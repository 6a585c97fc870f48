package explore

import (
	"fmt"
	"strings"
)

// String describes the shared parts of a state, not the stage of each Get.
func (s *state) String() string {
	return strings.Join(s.facts(), ", ")
}

// changes lists the facts that a step has changed.
func changes(from, to *state) string {
	var out []string
	old := from.facts()
	for i, f := range to.facts() {
		if f != old[i] {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (s *state) facts() []string {
	all := []string{fmt.Sprintf("source v%d", s.version), s.cell.String(), fmt.Sprintf("record in the log %v", s.logged)}
	for i := range s.procs {
		r := &s.procs[i]
		all = append(all,
			fmt.Sprintf("%s lease %s", names[i], r.lease),
			fmt.Sprintf("%s entry %s", names[i], r.local),
			fmt.Sprintf("%s applied %d", names[i], r.at))
	}
	return all
}

func (t stamp) String() string { return [...]string{"lapsed", "early", "late"}[t] }

func (c cell) String() string {
	switch c.kind {
	case absent:
		return "cell empty"
	case claimed:
		return fmt.Sprintf("cell claim #%d", c.nonce)
	default:
		return fmt.Sprintf("cell v%d #%d as of %d", c.version, c.nonce, c.pos)
	}
}

func (e entry) String() string {
	if e.version == 0 {
		return "none"
	}
	return fmt.Sprintf("v%d born %d", e.version, e.born)
}
