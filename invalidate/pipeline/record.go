package pipeline

import (
	"slices"
	"time"
)

// Trigger says who led a round.
type Trigger uint8

// The triggers of a round. The zero Trigger is none.
const (
	ByWrite Trigger = iota + 1 // Consume or Apply
	ByRun                      // Run, on its window
	ByClose                    // Close
)

// String returns "write", "run", "close" or "none".
func (t Trigger) String() string {
	switch t {
	case ByWrite:
		return "write"
	case ByRun:
		return "run"
	case ByClose:
		return "close"
	}
	return "none"
}

// Record tells of one round, for an operator.
type Record struct {
	At      time.Time // when it began
	Took    time.Duration
	Trigger Trigger
	Attempt int   // 1 for a plan's first
	Err     error // why it failed; nil: all stages have applied it

	First, Last uint64 // epochs of the plan; see Plan
	Events      int
	Subjects    int
	Deleted     int // subjects that are gone
	Entities    int
	Warms       int
	All         bool
	Lost        int      // events that All stands for
	Sample      []string // the first of the entities, at most 16
}

const maxSample = 16

func newRecord(b *batch, by Trigger, at time.Time, took time.Duration, err error) Record {
	p := &b.plan
	r := Record{
		At: at, Took: took, Trigger: by, Attempt: b.attempts, Err: err,
		First: p.First, Last: p.Last, Events: p.Events, Subjects: len(p.Subjects),
		Entities: len(p.Entities), Warms: len(p.Warms), All: p.All, Lost: p.Lost,
		Sample: slices.Clone(p.Entities[:min(len(p.Entities), maxSample)]),
	}
	for i := range p.Subjects {
		if p.Subjects[i].Deleted {
			r.Deleted++
		}
	}
	return r
}

// remember keeps the newest records. c.mu is held.
func (c *Consumer) remember(r Record) {
	if len(c.recent) >= c.cfg.Recent {
		c.recent = slices.Delete(c.recent, 0, len(c.recent)-c.cfg.Recent+1)
	}
	c.recent = append(c.recent, r)
}

// Recent returns the latest rounds, the newest first. The slice is the caller's;
// the Samples are shared and must not be changed.
func (c *Consumer) Recent() []Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := slices.Clone(c.recent)
	slices.Reverse(r)
	return r
}
