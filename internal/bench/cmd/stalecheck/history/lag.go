package history

import (
	"cmp"
	"slices"
)

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
	seen := make(map[place]*sightings)
	var acked []Event
	since := map[uint8]int64{} // when a process began to read
	for _, e := range events {
		switch e.Type {
		case Read:
			p := place{e.Key, int(e.Proc)}
			if seen[p] == nil {
				seen[p] = &sightings{}
			}
			seen[p].reads = append(seen[p].reads, e)
			if first, ok := since[e.Proc]; !ok || e.Start < first {
				since[e.Proc] = e.Start
			}
		case Acked, Committed:
			acked = append(acked, e)
		case NoRead, Refused, Ping, Alarm:
		}
	}
	for _, s := range seen {
		s.sort()
	}
	var l Lag
	for _, a := range acked {
		for p, began := range since {
			s := seen[place{a.Key, int(p)}]
			if p == a.Proc || s == nil || began > a.End {
				continue // a process that began later is not measured
			}
			l.add(a, s)
		}
	}
	slices.Sort(l.FromAck)
	slices.Sort(l.FromCall)
	return l
}

func (l *Lag) add(ack Event, s *sightings) {
	if at, ok := s.first(ack.Version); ok {
		l.FromAck = append(l.FromAck, max(0, at-ack.End))
		l.FromCall = append(l.FromCall, max(0, at-ack.Start))
	}
}

// sightings are the reads of one key by one process.
type sightings struct {
	reads   []Event // by their end
	highest []int64 // highest[i] is the newest version among reads[:i+1]
}

func (s *sightings) sort() {
	slices.SortFunc(s.reads, func(a, b Event) int { return cmp.Compare(a.End, b.End) })
	var top int64
	for _, e := range s.reads {
		top = max(top, e.Version)
		s.highest = append(s.highest, top)
	}
}

// first returns when version v or a newer one was first returned.
func (s *sightings) first(v int64) (int64, bool) {
	i, _ := slices.BinarySearch(s.highest, v)
	if i == len(s.highest) {
		return 0, false
	}
	return s.reads[i].End, true
}
