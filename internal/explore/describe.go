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
	r := &s.proc
	return []string{
		fmt.Sprintf("source v%d", s.version), s.cell.String(), fmt.Sprintf("record in the log %v", s.logged),
		fmt.Sprintf("lease %s", r.lease), fmt.Sprintf("entry %s", r.local), fmt.Sprintf("applied %d", r.at),
	}
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
