package history

import "slices"

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
