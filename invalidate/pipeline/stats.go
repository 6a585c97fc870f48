package pipeline

import (
	"sync/atomic"
	"time"
)

// stat is one of a consumer's counters.
type stat int

const (
	planned stat = iota
	applied
	writeRounds
	autoRounds
	autoRuns
	autoHits
	failedRounds
	panics
	warmed
	skipped
	restarted
	failedWarms
	refusedWarms
	consumeNanos
	warmNanos
	statCount
)

type counters struct {
	n      [statCount]atomic.Int64
	stages []stageFailures // never changes but for the numbers
}

type stageFailures struct {
	name string
	n    atomic.Int64
}

func newCounters(stages []Stage) *counters {
	c := &counters{stages: make([]stageFailures, len(stages))}
	for i := range stages {
		c.stages[i].name = stages[i].Name
	}
	return c
}

func (c *counters) inc(s stat)          { c.n[s].Add(1) }
func (c *counters) add(s stat, n int64) { c.n[s].Add(n) }
func (c *counters) get(s stat) int64    { return c.n[s].Load() }

func (c *counters) stageFailed(name string) {
	for i := range c.stages {
		if c.stages[i].name == name {
			c.stages[i].n.Add(1)
		}
	}
}

// Stats are the numbers of a [Consumer] and its queue. What is not said to be
// of this moment only grows.
type Stats struct {
	Queue   QueueStats // of the queue
	Applied uint64     // the epoch up to which all events have been applied by all stages

	Planned       int64            // actions of their plans: entities to invalidate, and warm-ups
	Plans         int64            // plans that all stages have applied
	WriteConsumes int64            // rounds led by a writer: Consume or Apply
	AutoConsumes  int64            // rounds led by Run
	AutoRuns      int64            // windows of Run
	AutoHits      int64            // those that found events that no writer had consumed
	FailedRounds  int64            // rounds that ended with an error
	StageFailures map[string]int64 // by stage: calls that failed
	Panics        int64            // of stages and warm-ups
	ConsumeTime   time.Duration    // of all rounds together

	Waiting      int           // names that wait for a warm-up, at this moment
	Warming      int           // warm-ups that run, at this moment
	Warmed       int64         // warm-ups that were done
	Skipped      int64         // that were dropped because they were no longer wanted, or by Close or Disable
	Restarted    int64         // runs that were overtaken and repeated
	FailedWarms  int64         // that failed; they are not repeated
	RefusedWarms int64         // that found MaxWarms names waiting
	WarmTime     time.Duration // of all runs together
}

// Stats returns the numbers as they are now. The map is the caller's.
func (c *Consumer) Stats() Stats {
	n := c.numbers
	s := Stats{
		Queue: c.queue.Stats(), Applied: c.Applied(),
		Planned: n.get(planned), Plans: n.get(applied),
		WriteConsumes: n.get(writeRounds), AutoConsumes: n.get(autoRounds),
		AutoRuns: n.get(autoRuns), AutoHits: n.get(autoHits), FailedRounds: n.get(failedRounds),
		StageFailures: make(map[string]int64, len(n.stages)),
		Panics:        n.get(panics), ConsumeTime: time.Duration(n.get(consumeNanos)),
		Warmed: n.get(warmed), Skipped: n.get(skipped), Restarted: n.get(restarted),
		FailedWarms: n.get(failedWarms), RefusedWarms: n.get(refusedWarms), WarmTime: time.Duration(n.get(warmNanos)),
	}
	for i := range n.stages {
		s.StageFailures[n.stages[i].name] = n.stages[i].n.Load()
	}
	s.Waiting, s.Warming = c.warm.usage()
	return s
}
