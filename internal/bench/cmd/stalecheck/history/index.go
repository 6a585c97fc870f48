package history

import (
	"cmp"
	"slices"
)

// ends finds, among events of one key, the one of a version above v that ended first.
type ends struct {
	sorted []Event // by version
	first  []Event // first[i] is the earliest of sorted[i:]
}

func newEnds(events []Event) *ends {
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.End, b.End))
	})
	a := &ends{sorted: events, first: slices.Clone(events)}
	for i := len(events) - 2; i >= 0; i-- {
		if a.first[i+1].End < a.first[i].End {
			a.first[i] = a.first[i+1]
		}
	}
	return a
}

// above returns the event of a version above v that ended first.
func (a *ends) above(v int64) (Event, bool) {
	if a == nil {
		return Event{}, false
	}
	i, _ := slices.BinarySearchFunc(a.sorted, v+1, func(e Event, v int64) int {
		return cmp.Compare(e.Version, v)
	})
	if i == len(a.first) {
		return Event{}, false
	}
	return a.first[i], true
}

// place is a key in one process, or in all processes.
type place struct {
	key  uint16
	proc int
}

const everywhere = -1

// index returns the chosen events by key, and by key and process.
func index(events []Event, choose func(*Event) bool) map[place]*ends {
	lists := make(map[place][]Event)
	for i := range events {
		if e := &events[i]; choose(e) {
			for _, proc := range []int{everywhere, int(e.Proc)} {
				p := place{e.Key, proc}
				lists[p] = append(lists[p], *e)
			}
		}
	}
	out := make(map[place]*ends, len(lists))
	for p, list := range lists {
		out[p] = newEnds(list)
	}
	return out
}

// Lag is how long a version took to reach the other processes, in nanoseconds. For each
// acknowledged invalidation of a key and each other process, it is the time until that process
// first returned the version or a newer one. It includes the load of the value. Each list is
// sorted.
type Lag struct {
	FromAck  []int64 // since the invalidation returned; 0 if the version was seen before
	FromCall []int64 // since the call, which is before the append
}

// Lags measures a history. The events may be in any order.
func Lags(events []Event) Lag {
	seen := index(events, func(e *Event) bool { return e.Type == Read })
	since := map[uint8]int64{} // when a process began to read
	for _, e := range events {
		if first, ok := since[e.Proc]; e.Type == Read && (!ok || e.Start < first) {
			since[e.Proc] = e.Start
		}
	}
	var l Lag
	for _, ack := range events {
		if ack.Type != Acked && ack.Type != Committed {
			continue
		}
		for p, began := range since {
			if p == ack.Proc || began > ack.End {
				continue // a process that began later is not measured
			}
			if first, ok := seen[place{ack.Key, int(p)}].above(ack.Version - 1); ok {
				l.FromAck = append(l.FromAck, max(0, first.End-ack.End))
				l.FromCall = append(l.FromCall, max(0, first.End-ack.Start))
			}
		}
	}
	slices.Sort(l.FromAck)
	slices.Sort(l.FromCall)
	return l
}
