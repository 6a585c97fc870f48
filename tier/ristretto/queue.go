package ristretto

import "sync"

const (
	batchEntries = 128 // entries that share one Wait of about 5 µs
	maxCounts    = 1024
)

// queue holds what the next drain passes to ristretto. The zero value is empty. Writers append
// under their shard's mutex, so the entries of one hash are queued in the order of the table's
// changes.
type queue struct {
	mu    sync.Mutex // taken inside a shard's mutex, never around one
	batch batch
	bytes int64 // charged by spills and forgets
}

// batch is a queue's contents. Its slices are reused.
type batch struct {
	forgets []uint64 // hashes in ristretto that a newer entry or a Delete has removed
	counts  []uint64 // hits in the front, for the sketch
	spills  []*node  // to offer, oldest first
}

func (q *queue) spill(n *node) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batch.spills = append(q.batch.spills, n)
	q.bytes += chargeOf(n)
}

// forget counts like a spill, because ristretto keeps the node alive until it forgets it.
func (q *queue) forget(n *node) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batch.forgets = append(q.batch.forgets, n.Hash)
	q.bytes += chargeOf(n)
}

// count drops hashes beyond maxCounts. The sketch is only an estimate, too.
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

// swap empties b and exchanges the contents with it.
func (q *queue) swap(b *batch) {
	clear(b.spills) // do not keep dead entries alive
	b.forgets, b.counts, b.spills = b.forgets[:0], b.counts[:0], b.spills[:0]
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batch, *b = *b, q.batch
	q.bytes = 0
}
