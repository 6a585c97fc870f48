package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Plan is what a batch of events comes to: what to invalidate, and what to warm
// up afterwards. [Merge] makes it.
type Plan struct {
	At       time.Time // when it was made
	Events   int       // that it was made of
	First    uint64    // epoch of the oldest event; 0 if there was none
	Last     uint64    // Drained.Last: with this plan applied, every event up to it is
	All      bool      // everything is to be invalidated
	Lost     int       // events that All stands for because the queue had overflowed
	Entities []string  // to be invalidated, sorted
	Subjects []Subject // of the events, sorted by name
	Warms    []Warm    // in the order to do them
}

// Subject is the last word on what events were about.
type Subject struct {
	Name    string // Event.Subject
	Epoch   uint64 // of the event that had it
	Deleted bool
	Events  int // about it

	invalidates []string // by all of them
}

// Warm is one warm-up of a [Plan].
type Warm struct {
	Name     string   // as the events ask for it
	Epoch    uint64   // of the newest event that asks for it
	Subjects []string // that it is asked for by, sorted
}

// Merge makes a plan of what was drained. It depends on the epochs of the events
// and not on their order in the slice.
//
//   - Entities are the union over all events: when a post moved from /a to /b
//     and on to /c, all three are invalid.
//   - For warming up, the event with the highest epoch is a subject's final
//     state, and only its Warms count: /c is warmed up, and /b, where nothing is
//     any more, is not.
//   - A delete is a state like any other: it ends the warm-ups of the updates
//     before it, wherever they are in the list, and what it lists itself is warmed
//     up. A subject that is made again at a higher epoch is warmed up again. At
//     one epoch, which a queue gives out but once, the delete wins.
//   - A warm-up that several subjects ask for is done once. Warm-ups are in the
//     order of the events that ask for them, and of the Warms of those.
func Merge(d Drained) Plan {
	p := Plan{At: time.Now(), Events: len(d.Events), Last: d.Last, All: d.All, Lost: d.Lost}
	states := map[string]*subjectState{}
	entities := map[string]struct{}{}
	for i := range d.Events {
		e := &d.Events[i]
		if p.First == 0 || e.Epoch < p.First {
			p.First = e.Epoch
		}
		for _, name := range e.Invalidates {
			entities[name] = struct{}{}
		}
		s := states[e.Subject]
		if s == nil {
			s = &subjectState{}
			states[e.Subject] = s
		}
		s.add(e)
	}
	p.Entities = slices.Sorted(maps.Keys(entities))
	for _, name := range slices.Sorted(maps.Keys(states)) {
		p.Subjects = append(p.Subjects, states[name].subject(name))
	}
	p.Warms = mergeWarms(slices.Collect(maps.Values(states)))
	return p
}

// subjectState is what the events about one subject come to so far.
type subjectState struct {
	final       *Event
	events      int
	invalidates []string
}

func (s *subjectState) add(e *Event) {
	s.events++
	s.invalidates = append(s.invalidates, e.Invalidates...)
	if s.final == nil || e.Epoch > s.final.Epoch || (e.Epoch == s.final.Epoch && e.Deleted) {
		s.final = e
	}
}

func (s *subjectState) subject(name string) Subject {
	slices.Sort(s.invalidates)
	return Subject{
		Name: name, Epoch: s.final.Epoch, Deleted: s.final.Deleted, Events: s.events,
		invalidates: slices.Compact(s.invalidates),
	}
}

func mergeWarms(states []*subjectState) []Warm {
	slices.SortFunc(states, func(a, b *subjectState) int {
		return cmp.Or(cmp.Compare(a.final.Epoch, b.final.Epoch), cmp.Compare(a.final.Subject, b.final.Subject))
	})
	var warms []Warm
	at := map[string]int{}
	for _, s := range states {
		for _, name := range s.final.Warms {
			i, ok := at[name]
			if !ok {
				i = len(warms)
				at[name] = i
				warms = append(warms, Warm{Name: name})
			}
			w := &warms[i]
			w.Epoch = s.final.Epoch
			w.Subjects = append(w.Subjects, s.final.Subject)
		}
	}
	for i := range warms {
		slices.Sort(warms[i].Subjects)
		warms[i].Subjects = slices.Compact(warms[i].Subjects)
	}
	return warms
}
