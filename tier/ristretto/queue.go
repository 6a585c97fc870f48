package ristretto

import "sync"

const (
	batchEntries = 128 // a Wait of some 5 µs is shared by this many
	maxCounts    = 1024
)

// queue holds what ristretto is due to hear. The zero value is empty. Writers
// append under their shard's mutex, so that what concerns one hash is queued in
// the order in which the table saw it.
type queue struct {
	mu    sync.Mutex // taken inside a shard's mutex, never around one
	batch batch
	bytes int64 // charged by spills and forgets
}

// batch is a queue's contents. Its slices are reused.
type batch struct {
	forgets []uint64 // a newer entry or a Delete took these from ristretto
	counts  []uint64 // hits the front saw, for the sketch
	spills  []*node  // to be offered, oldest first
}

func (q *queue) spill(n *node) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batch.spills = append(q.batch.spills, n)
	q.bytes += chargeOf(n)
}

// forget is counted like a spill, for ristretto keeps the node from the garbage
// collector until it has heard.
func (q *queue) forget(n *node) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batch.forgets = append(q.batch.forgets, n.Hash)
	q.bytes += chargeOf(n)
}

// count is lossy, as the sketch is.
func (q *queue) count(hash uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batch.counts) < maxCounts {
		q.batch.counts = append(q.batch.counts, hash)
	}
}

// due reports whether the queue is long or heavy enough for a drain.
func (q *queue) due(bytes int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.batch.spills)+len(q.batch.forgets) >= batchEntries || q.bytes >= bytes
}

// swap exchanges the contents with an emptied batch.
func (q *queue) swap(b *batch) {
	clear(b.spills) // they must not keep dead entries alive
	b.forgets, b.counts, b.spills = b.forgets[:0], b.counts[:0], b.spills[:0]
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batch, *b = *b, q.batch
	q.bytes = 0
}
