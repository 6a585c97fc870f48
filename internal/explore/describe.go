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
	all := []string{fmt.Sprintf("source v%d", s.version), s.cell.String(), "log " + s.log.String() + s.box.String()}
	for i := range s.procs {
		r := &s.procs[i]
		all = append(all,
			fmt.Sprintf("%s lease %s", names[i], r.lease),
			fmt.Sprintf("%s entry %s", names[i], r.local),
			fmt.Sprintf("%s applied %d", names[i], r.at))
	}
	return all
}

func (h history) String() string {
	return [...]string{
		"empty", "has the record", "has lost the record", "has the record or not, then a bump",
		"has a bump", "has a bump, then the record",
	}[h]
}

func (b outbox) String() string {
	switch {
	case b.ours && b.other:
		return ", outbox has a row and another"
	case b.ours:
		return ", outbox has a row"
	case b.other:
		return ", outbox has another row"
	}
	return ""
}

func (t stamp) String() string { return [...]string{"lapsed", "early", "late"}[t] }

func (c cell) String() string {
	switch c.kind {
	case absent:
		return "cell empty"
	case claimed:
		return fmt.Sprintf("cell claim #%d", c.nonce)
	default:
		return fmt.Sprintf("cell v%d #%d as of %d%s", c.version, c.nonce, c.pos, stale(c.stale))
	}
}

func (e entry) String() string {
	if e.version == 0 {
		return "none"
	}
	return fmt.Sprintf("v%d born %d%s", e.version, e.born, stale(e.stale))
}

func stale(is bool) string {
	if is {
		return ", stale"
	}
	return ""
}
