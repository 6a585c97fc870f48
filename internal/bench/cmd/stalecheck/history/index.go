package history

import (
	"cmp"
	"slices"
)

// acks finds, for one key, the earliest acknowledgement of a version above v.
type acks struct {
	sorted []Event // by version
	first  []Event // first[i] is the earliest of sorted[i:]
}

func newAcks(events []Event) *acks {
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.End, b.End))
	})
	a := &acks{sorted: events, first: slices.Clone(events)}
	for i := len(events) - 2; i >= 0; i-- {
		if a.first[i+1].End < a.first[i].End {
			a.first[i] = a.first[i+1]
		}
	}
	return a
}

// above returns the earliest acknowledgement of a version above v.
func (a *acks) above(v int64) (Event, bool) {
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

// index returns the acknowledgements by key, and by key and process.
func index(events []Event) map[place]*acks {
	lists := make(map[place][]Event)
	for _, e := range events {
		if e.Type != Acked {
			continue
		}
		for _, proc := range []int{everywhere, int(e.Proc)} {
			p := place{e.Key, proc}
			lists[p] = append(lists[p], e)
		}
	}
	out := make(map[place]*acks, len(lists))
	for p, list := range lists {
		out[p] = newAcks(list)
	}
	return out
}
