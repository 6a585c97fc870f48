package pipeline

import (
	"cmp"
	"slices"
	"sync"
)

// QueueConfig bounds a [Queue]. Its zero value is ready to use.
type QueueConfig struct {
	// MaxEvents bounds the events that wait. When one more comes, all of them
	// become one invalidation of everything. Zero or less: 2,048.
	MaxEvents int

	// MaxKeys is how many idempotency keys are remembered at least; at most it
	// is twice as many. Zero or less: 8,192.
	MaxKeys int
}

// Queue holds the events that were published and not yet drained. It is bounded
// and loses none of their invalidations: when it is full, it remembers in their
// place that everything is to be invalidated.
//
// Make one with [NewQueue]. All methods may be called concurrently. A queue has
// one consumer: what one drains, another never sees.
type Queue struct {
	maxEvents int

	mu      sync.Mutex // protects the rest
	last    uint64     // the newest epoch
	events  []Event
	head    int // of events: those before are drained
	all     bool
	lost    lost // since the last Drain
	seen    seenKeys
	numbers QueueStats
}

// lost counts what an overflow took.
type lost struct{ events, warms int }

// QueueStats are the numbers of a [Queue]. But for Len they only grow.
type QueueStats struct {
	Len        int    // events that wait
	Last       uint64 // the newest epoch
	Published  int64  // events, duplicates not among them
	Duplicates int64  // events whose key had been seen
	Overflows  int64  // times that the queue became an invalidation of everything
	LostWarms  int64  // warm-ups that overflows took
	Flushes    int64  // calls to PublishAll
	Drained    int64  // events
}

// NewQueue returns an empty queue.
func NewQueue(cfg QueueConfig) *Queue {
	return &Queue{
		maxEvents: cmp.Or(max(cfg.MaxEvents, 0), 2048),
		seen:      newSeenKeys(cmp.Or(max(cfg.MaxKeys, 0), 8192)),
	}
}

// Publish queues an event and returns its epoch: 1 for the first, then always
// one more. An event whose key was seen lately returns the epoch of the first
// that had it. It keeps copies of the slices. Errors wrap [ErrEvent].
//
// When the queue is full, all that waits in it and this event become one
// invalidation of everything. Their warm-ups are lost, and counted: nobody can
// tell any more which of them are still the last word on their subject.
func (q *Queue) Publish(e Event) (uint64, error) {
	if err := e.Validate(); err != nil {
		return 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if first, ok := q.seen.get(e.Key); ok {
		q.numbers.Duplicates++
		return first, nil
	}
	q.last++
	q.seen.put(e.Key, q.last)
	q.numbers.Published++
	if len(q.events)-q.head >= q.maxEvents {
		q.overflow(&e)
		return q.last, nil
	}
	e.Epoch = q.last
	e.Invalidates, e.Warms = slices.Clone(e.Invalidates), slices.Clone(e.Warms)
	q.events = append(q.events, e)
	return q.last, nil
}

// PublishAll asks for everything to be invalidated, and returns the epoch of
// that. It takes no room.
func (q *Queue) PublishAll() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	q.all = true
	q.numbers.Flushes++
	return q.last
}

// overflow drops what waits, and one event more, for the flag.
func (q *Queue) overflow(e *Event) {
	q.all = true
	q.lost.events += len(q.events) - q.head + 1
	warms := len(e.Warms)
	for i := range q.events[q.head:] {
		warms += len(q.events[q.head+i].Warms)
	}
	q.lost.warms += warms
	q.numbers.LostWarms += int64(warms)
	q.numbers.Overflows++
	q.events, q.head = nil, 0
}

// Drained is what one [Queue.Drain] took.
type Drained struct {
	Events    []Event // in the order of their epochs
	All       bool    // everything published so far is to be taken for invalidated
	Last      uint64  // every event up to this epoch has been drained, now or before
	Lost      int     // events that All stands for because the queue had overflowed
	LostWarms int     // their warm-ups, which are not done
}

// Drain takes the oldest events, at most limit of them, and the flag to
// invalidate everything if it was up. A limit of zero or less takes all.
func (q *Queue) Drain(limit int) Drained {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.events) - q.head
	if limit > 0 {
		n = min(n, limit)
	}
	d := Drained{All: q.all, Last: q.last, Lost: q.lost.events, LostWarms: q.lost.warms}
	d.Events = slices.Clone(q.events[q.head : q.head+n])
	clear(q.events[q.head : q.head+n])
	if q.head += n; q.head == len(q.events) {
		q.events, q.head = q.events[:0], 0
	} else {
		d.Last = q.events[q.head].Epoch - 1
		q.compact()
	}
	q.all, q.lost = false, lost{}
	q.numbers.Drained += int64(n)
	return d
}

// compact moves what waits to the front, once half of the slice is behind it,
// so that a queue which is never quite empty does not grow.
func (q *Queue) compact() {
	if q.head*2 < len(q.events) {
		return
	}
	n := copy(q.events, q.events[q.head:])
	clear(q.events[n:])
	q.events, q.head = q.events[:n], 0
}

// Len returns how many events wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.events) - q.head
}

// Last returns the newest epoch; 0 before the first event.
func (q *Queue) Last() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.last
}

// Stats returns the queue's numbers, all of one moment.
func (q *Queue) Stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.numbers
	s.Len, s.Last = len(q.events)-q.head, q.last
	return s
}
