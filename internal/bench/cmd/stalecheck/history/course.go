package history

import (
	"cmp"
	"math"
	"slices"
)

// A Course is the history of a source, as seen by an observer that reads the whole source
// repeatedly. It is for a source that may be restored to an older copy, and for writers that die
// before they report. In such a run versions do not only grow, and some commits are never
// acknowledged to a process that records them. No two commits write the same version.
//
// A sample shows the source as of one moment between the sample's start and end. So a version did
// not exist before the start of the last sample that does not show it yet. And it no longer existed
// at the end of the first sample that shows another version. Only the time outside of these limits
// counts against a read.
type Course struct {
	spans   map[uint16][]span // of each key, in order
	ends    map[state][]int   // of each value of a key, its spans
	samples []limits
}

// span is the longest time for which the source may have held a version of a key.
type span struct {
	version  int64
	from, to int64 // to is math.MaxInt64 while the version lasts
}

type state struct {
	key     uint16
	version int64
}

// limits are the start and end times of a sample.
type limits struct{ start, end int64 }

// NewCourse returns a course without samples.
func NewCourse() *Course {
	return &Course{spans: make(map[uint16][]span), ends: make(map[state][]int)}
}

// Sample adds a sample: the version of each key, in order. Samples must be added in the order of
// time.
func (c *Course) Sample(start, end int64, versions []int64) {
	from := int64(math.MinInt64)
	if n := len(c.samples); n > 0 {
		from = c.samples[n-1].start
	}
	for i, v := range versions {
		k := uint16(i)
		list := c.spans[k]
		if n := len(list); n > 0 && list[n-1].version == v {
			continue
		} else if n > 0 {
			list[n-1].to = end
		}
		m := state{k, v}
		c.ends[m] = append(c.ends[m], len(list))
		c.spans[k] = append(list, span{v, from, math.MaxInt64})
	}
	c.samples = append(c.samples, limits{start, end})
}

// last returns the last span of a version that began before at, and its index among the key's
// spans.
func (c *Course) last(m state, at int64) (s span, n int, ok bool) {
	for _, i := range c.ends[m] {
		if c.spans[m.key][i].from <= at {
			n, ok = i, true
		}
	}
	if ok {
		s = c.spans[m.key][n]
	}
	return s, n, ok
}

// Observe checks a history by the course of its source. A read may return a version that the source
// still held within the time that the rules allow, counted back from the start of the read. An
// acknowledgement means that a process knows a version, or with Settled that all processes know it.
// A later read in these processes must not return anything older than that version.
func (c *Course) Observe(events []Event, rules Rules) *Verdict {
	seen, acks := firstReads(events), c.acks(events, rules.Settled)
	return verdict(events, nil, rules, func(v *Verdict, read Event) { v.observe(c, read, seen, acks, rules) })
}

// firstReads returns when each version is first known to have existed: at the end of its first
// read.
func firstReads(events []Event) map[state]int64 {
	seen := make(map[state]int64)
	for _, e := range events {
		if m := (state{e.Key, e.Version}); e.Type == Read && (seen[m] == 0 || e.End < seen[m]) {
			seen[m] = e.End
		}
	}
	return seen
}

// until bounds the lifetime of a version that no sample shows: it ended by the end of the first
// sample that began after since. Samples are few compared with reads.
func (c *Course) until(since int64) int64 {
	i, _ := slices.BinarySearchFunc(c.samples, since, func(s limits, at int64) int { return cmp.Compare(s.start, at) })
	if i == len(c.samples) {
		return math.MaxInt64
	}
	return c.samples[i].end
}

func (v *Verdict) observe(c *Course, read Event, seen map[state]int64, acks map[place][]news, rules Rules) {
	v.Reads++
	m := state{read.Key, read.Version}
	s, n, ok := c.last(m, read.End)
	next := Event{Key: read.Key}
	switch {
	case !ok:
		v.Unseen++
		s, n = span{to: c.until(seen[m])}, math.MaxInt
	case n+1 < len(c.spans[read.Key]):
		next.Version = c.spans[read.Key][n+1].version
	}
	next.End = s.to
	staleness := read.Start - s.to
	if staleness > 0 {
		v.Stale++
		v.ByTier[read.Tier] = append(v.ByTier[read.Tier], staleness)
	}
	who := int(read.Proc)
	if rules.Settled {
		who, rules.Settled = everywhere, false
	}
	if limit := rules.limit(&read, false); staleness > limit {
		v.Violations = append(v.Violations, Violation{read, next, staleness, limit, false})
		return
	}
	if ack, late := newest(acks[place{read.Key, who}], read.Start); late > n {
		v.Violations = append(v.Violations, Violation{read, ack, read.Start - ack.End, 0, who != everywhere})
	}
}

// news is an acknowledgement, with the highest span index among it and the earlier ones.
type news struct {
	ack Event
	n   int
}

// acks returns the acknowledgements, sorted by their ends, for each key and process. With settled,
// all processes share one list.
func (c *Course) acks(events []Event, settled bool) map[place][]news {
	out := make(map[place][]news)
	for _, e := range events {
		// A version may have come back: its first appearance counts.
		list := c.ends[state{e.Key, e.Version}]
		if e.Type != Acked || len(list) == 0 {
			continue
		}
		p := place{e.Key, int(e.Proc)}
		if settled {
			p.proc = everywhere
		}
		out[p] = append(out[p], news{e, list[0]})
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b news) int { return cmp.Compare(a.ack.End, b.ack.End) })
		for i := 1; i < len(list); i++ {
			if list[i-1].n > list[i].n {
				list[i] = list[i-1]
			}
		}
	}
	return out
}

// newest returns the acknowledgement with the newest version before at, and the index of its span.
func newest(list []news, at int64) (ack Event, n int) {
	i, _ := slices.BinarySearchFunc(list, at, func(e news, at int64) int { return cmp.Compare(e.ack.End, at) })
	if i == 0 {
		return Event{}, -1
	}
	return list[i-1].ack, list[i-1].n
}
