package explore_test

import (
	"slices"
	"testing"
)

// A small model of an audit (package cache, audit.go). The interleavings there have half a second
// between two events, and a log whose records arrive immediately. Here a record may arrive at any time
// after it is in the log, or never, and any step may come between two others.
//
// A hit had version 0. The source gets two more versions. The record of each is in the log within
// the bound, except for forgotten ones. The audit must not call the hit stale if its first load saw a
// version whose record was not forgotten.

// auditing is a state. Sets of versions have a bit for each version.
type auditing struct {
	source          int8  // the version in the source
	logged, applied uint8 // records in the log; and those that this process knows
	at              int8  // the step that comes next, an index into the steps of the audit
	due             uint8 // records that are in the log when the wait ends
	asked           uint8 // what the log had when it was asked
	first, second   int8  // what the loads returned
	outcome         string
}

type auditModel struct {
	forgotten uint8
	steps     []string // of the audit
}

var auditSteps = []string{"wait", "stand", "load", "wait", "ask", "hear", "load again", "stand", "compare"}

// upTo returns the set of the versions 1 to v.
func upTo(v int8) uint8 { return 1<<(v+1) - 2 }

// next returns the states after s.
func (m *auditModel) next(s auditing) (all []auditing) {
	if s.outcome != "" {
		return nil
	}
	to := s
	if to.source++; to.source <= 2 {
		all = append(all, to)
	}
	for v := uint8(2); v <= 4; v *= 2 {
		if to = s; s.logged&v != 0 {
			to.applied |= v
		} else if upTo(s.source)&v&^m.forgotten != 0 {
			to.logged |= v
		}
		all = append(all, to)
	}
	if to = s; m.steps[s.at] != "wait" || s.due&^s.logged == 0 {
		m.audit(&to)
		all = append(all, to)
	}
	return all
}

// audit makes the audit's next step.
func (m *auditModel) audit(s *auditing) {
	step := m.steps[s.at]
	s.at++
	switch step {
	case "stand":
		if s.applied != 0 {
			s.outcome = "ended"
		}
	case "load":
		if s.first = s.source; s.first == 0 {
			s.outcome = "same"
		}
	case "ask":
		s.asked = s.logged
	case "hear":
		s.applied |= s.asked
	case "load again":
		s.second = s.source
	case "compare":
		if s.outcome = "stale"; s.first != s.second {
			s.outcome = "failed"
		}
	}
	s.due = upTo(s.source) &^ m.forgotten // if the next step is a wait, it begins now
}

// run visits every state, and returns the final ones.
func (m *auditModel) run() (final []auditing) {
	seen := map[auditing]bool{{}: true}
	for todo := []auditing{{}}; len(todo) > 0; todo = todo[1:] {
		s := todo[0]
		if s.outcome != "" {
			final = append(final, s)
		}
		for _, to := range m.next(s) {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return final
}

// The steps raise no false alarm, and find each forgotten version that their loads see. Without the
// second wait, the question or the last look, or with the question before the wait, they do raise
// one. The first wait only saves loads, and the second load only recognises volatile values.
func TestAudit(t *testing.T) {
	without := func(i ...int) (steps []string) {
		for at, s := range auditSteps {
			if !slices.Contains(i, at) {
				steps = append(steps, s)
			}
		}
		return steps
	}
	for name, tt := range map[string]struct {
		steps []string
		alarm bool
	}{
		"all steps":      {auditSteps, false},
		"no first wait":  {without(0), false},
		"no second wait": {without(3), true},
		"no question":    {without(4, 5), true},
		"no last look":   {without(7), true},
		"question, wait": {[]string{"wait", "stand", "load", "ask", "hear", "wait", "load again", "stand", "compare"}, true},
	} {
		alarms, found := 0, map[string]int{}
		for forgotten := uint8(0); forgotten <= 6; forgotten += 2 {
			m := auditModel{forgotten: forgotten, steps: tt.steps}
			for _, s := range m.run() {
				found[s.outcome]++
				if s.outcome == "stale" && upTo(s.first)&^forgotten != 0 {
					alarms++
				}
				if forgotten == 6 && s.first != 0 && s.first == s.second && s.outcome != "stale" {
					t.Errorf("%s: a forgotten version is not found: %+v", name, s)
				}
			}
		}
		if (alarms > 0) != tt.alarm {
			t.Errorf("%s: %d final states are false alarms; want some: %v", name, alarms, tt.alarm)
		}
		if len(found) != 4 {
			t.Errorf("%s: the model has lost steps: %v", name, found)
		}
	}
}
