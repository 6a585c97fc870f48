package digest

import (
	"context"
	"sync"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// What is counted, by kind.
const (
	requests   = "requests"
	hits       = "hits"       // had, in memory or in the database
	merged     = "merged"     // waited for somebody else's call
	misses     = "misses"     // the combination was nobody's yet
	empties    = "empty"      // of these three, how many came to nothing
	noSources  = "no_sources" // asked by users who subscribe to nothing
	failures   = "failures"
	stale      = "stale"
	calls      = "llm_calls"
	callErrors = "llm_errors"
	callTime   = "llm_ms"
	tokens     = "tokens"
	dropped    = "links_dropped"
	repaired   = "links_repaired"
)

// counter counts in memory, and writes now and then what has come together: a count
// that costs a write per request would cost more than the request.
type counter struct {
	store *store.Store

	mu      sync.Mutex // protects pending
	pending map[store.Count]int64
}

func newCounter(s *store.Store) *counter { return &counter{store: s, pending: map[store.Count]int64{}} }

func (c *counter) add(name string, k Kind, n int64) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[store.Count{Name: name, Label: string(k)}] += n
}

// outcome counts what a request that worked came to.
func (c *counter) outcome(k Kind, r Result) {
	switch r.Origin {
	case FromMemory, FromDatabase:
		c.add(hits, k, 1)
	case FromMerge:
		c.add(merged, k, 1)
	case FromCall:
		c.add(misses, k, 1)
	}
	if r.State == Empty {
		c.add(empties, k, 1)
	}
}

// flush writes what has come together. What could not be written waits for the next time.
func (c *counter) flush(ctx context.Context) error {
	c.mu.Lock()
	pending := c.pending
	c.pending = map[store.Count]int64{}
	c.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	counts := make([]store.Count, 0, len(pending))
	for count, n := range pending {
		count.Value = n
		counts = append(counts, count)
	}
	err := c.store.Write(ctx, func(tx *store.Tx) error { return tx.AddCounts(ctx, counts...) })
	if err != nil {
		for count, n := range pending {
			c.add(count.Name, Kind(count.Label), n)
		}
	}
	return err
}
