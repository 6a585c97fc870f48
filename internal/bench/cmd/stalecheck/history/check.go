package history

import (
	"cmp"
	"slices"
	"time"
)

// drift is the error of a monotonic clock's rate that the guarantee tolerates: a lease of one
// second may last 0.1 ms longer.
const drift = 1e-4

// Rules say how stale a read may be.
type Rules struct {
	Bound   time.Duration // in other processes than the one that invalidated
	Own     time.Duration // in the process that invalidated, after the call has returned
	Settled bool          // Settle followed every invalidation, so no read may be stale
	Soft    bool          // values expired instead of being invalidated: a read reported as stale is correct
}

// limit returns the staleness in nanoseconds that a read may have. A call that asks for a value
// younger than the bound must not get an older one.
func (r Rules) limit(read *Event, own bool) int64 {
	bound := int64(r.Bound)
	switch {
	case r.Settled:
		return 0
	case own:
		bound = int64(r.Own)
	}
	if read.MaxAge > 0 {
		bound = min(bound, read.MaxAge)
	}
	return bound + int64(drift*float64(bound))
}

// Violation is a read that the guarantee forbids.
type Violation struct {
	Read      Event
	Ack       Event // the earliest one of a newer version
	Staleness int64 // nanoseconds from the return of Ack to the start of Read
	Limit     int64 // the allowed staleness
	Own       bool  // the reader's process is the one that invalidated
}

// Verdict is the result of Check.
type Verdict struct {
	Reads, Failed          int              // reads by outcome
	Acks, Refusals         int              // invalidations by outcome: calls, not keys
	Stale                  int              // reads of a version that was known to be old
	Unseen                 int              // reads of a version that existed only between two samples of the source; see Course
	ByTier                 map[Tier][]int64 // the staleness of stale reads, sorted
	ByKind                 map[Kind][]int64 // the same, by the earliest invalidation
	Violations             []Violation      // by the read's start
	Alarms                 int              // stale hits that audits reported
	FalseAlarms            []Violation      // those among them that the guarantee forbids; Read is the alarm
	Invalidation, PingTime []int64          // durations in nanoseconds, sorted
}

// Check checks a history by its acknowledgements. The events may be in any order.
func Check(events []Event, rules Rules) *Verdict {
	known := index(events, func(e *Event) bool { return e.Type == Acked })
	return verdict(events, known, rules, func(v *Verdict, read Event) { v.check(read, known, rules) })
}

// verdict counts the events, and has all reads checked.
func verdict(events []Event, known map[place]*ends, rules Rules, check func(*Verdict, Event)) *Verdict {
	v := &Verdict{ByTier: make(map[Tier][]int64), ByKind: make(map[Kind][]int64)}
	v.count(events)
	v.alarms(events, known, rules)
	for _, e := range events {
		if e.Type == Read && (!rules.Soft || !e.Stale) {
			check(v, e)
		}
	}
	for _, list := range v.ByTier {
		slices.Sort(list)
	}
	for _, list := range v.ByKind {
		slices.Sort(list)
	}
	slices.SortFunc(v.Violations, func(a, b Violation) int { return cmp.Compare(a.Read.Start, b.Read.Start) })
	return v
}

// check compares a read with two acknowledgements of a newer version: the earliest anywhere, and
// the earliest in the reader's own process, which has the tighter limit. The read may violate
// either.
func (v *Verdict) check(read Event, known map[place]*ends, rules Rules) {
	v.Reads++
	var found Violation
	for _, proc := range []int{everywhere, int(read.Proc)} {
		ack, ok := known[place{read.Key, proc}].above(read.Version)
		staleness := read.Start - ack.End
		if !ok || staleness <= 0 {
			continue
		}
		if proc == everywhere {
			v.Stale++
			v.ByTier[read.Tier] = append(v.ByTier[read.Tier], staleness)
			v.ByKind[ack.Kind] = append(v.ByKind[ack.Kind], staleness)
		}
		own := ack.Proc == read.Proc
		if limit := rules.limit(&read, own); staleness > limit {
			found = Violation{read, ack, staleness, limit, own}
		}
	}
	if found.Staleness > 0 {
		v.Violations = append(v.Violations, found)
	}
}

// count counts the events. One call that covers several keys is one event for each key.
func (v *Verdict) count(events []Event) {
	type call struct {
		proc uint8
		op   uint32
	}
	seen := make(map[call]bool)
	for _, e := range events {
		switch c := (call{e.Proc, e.Op}); e.Type {
		case NoRead:
			v.Failed++
		case Ping:
			v.PingTime = append(v.PingTime, e.End-e.Start)
		case Acked, Committed:
			if !seen[c] {
				v.Acks++
				v.Invalidation = append(v.Invalidation, e.End-e.Start)
			}
			seen[c] = true
		case Refused:
			if !seen[c] {
				v.Refusals++
			}
			seen[c] = true
		case Alarm:
			v.Alarms++
		case Read:
		}
	}
	slices.Sort(v.Invalidation)
	slices.Sort(v.PingTime)
}

// alarms finds the false alarms of audits. An audit may call a hit stale if the write that its first
// load saw was not invalidated: the call failed, is still on its way, or was forgotten. It must not
// if the call was acknowledged within the bound after that load began, because it waits for the
// bound before it loads again.
//
// In a database the write and its invalidation are one transaction. Then known is nil, and every
// alarm is false.
func (v *Verdict) alarms(events []Event, known map[place]*ends, rules Rules) {
	for _, e := range events {
		if e.Type != Alarm {
			continue
		}
		ack, ok := known[place{e.Key, everywhere}].above(e.Version - 1)
		if limit := e.Start + int64(rules.Bound); known == nil || ok && ack.End <= limit {
			v.FalseAlarms = append(v.FalseAlarms, Violation{Read: e, Ack: ack, Staleness: e.Start - ack.End})
		}
	}
}
