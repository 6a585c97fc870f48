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
