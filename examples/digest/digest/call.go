package digest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// ErrPanic means that the summariser panicked. The text omits the value: it may quote an item.
var ErrPanic = errors.New("digest: the summariser panicked")

// CallError means that the summariser failed. All processes remember it for a moment, so a model
// that fails is called once in that time, however many users ask.
type CallError struct{ Err error }

// Error returns the reason. Users can read it, and network errors name hosts.
func (e *CallError) Error() string {
	if _, ok := errors.AsType[*summary.ModelError](e.Err); !ok && errors.Is(e.Err, summary.ErrUnavailable) {
		return "digest: no summary: " + summary.ErrUnavailable.Error()
	}
	return "digest: no summary: " + e.Err.Error()
}

// Unwrap returns Err.
func (e *CallError) Unwrap() error { return e.Err }

// CacheCode implements [cache.Coder].
func (e *CallError) CacheCode() string { return "failed" }

// call runs the summariser, at most maxCalls at a time. It counts the call before it
// starts, because a crash must not hide it, and records the cost immediately after it.
func (s *Service) call(ctx context.Context, r summary.Request) (got summary.Summary, err error) {
	if err := s.calls.Acquire(ctx, 1); err != nil {
		return got, err
	}
	defer s.calls.Release(1)
	if err := s.store.Write(ctx, func(tx *store.Tx) error { return tx.AddCounts(ctx, map[string]int64{calls: 1}) }); err != nil {
		return got, err
	}
	began := time.Now()
	got, err = s.ask(ctx, r)
	s.counts.add(tokens, got.Tokens)
	s.counts.add(callTime, time.Since(began).Milliseconds())
	s.counts.add(dropped, int64(got.Dropped))
	if err != nil {
		s.counts.add(callErrors, 1)
	}
	if e := s.counts.flush(context.WithoutCancel(ctx)); e != nil { // the caller may have left, but the money is spent
		s.log.Error("digest: the cost of a call is not recorded yet; it is retried", "error", e)
	}
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, summary.ErrRateLimited): // the last one has its own code
		return got, err
	}
	s.log.Warn("digest: no summary", "type", r.Kind, "items", len(r.Items), "error", err)
	return summary.Summary{}, &CallError{err}
}

// ask summarises the items and checks the links. A panic fails only this digest: the parser
// reads items that strangers wrote.
func (s *Service) ask(ctx context.Context, r summary.Request) (got summary.Summary, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w with a %T", ErrPanic, v) // the value may quote an item
		}
	}()
	if got, err = s.cfg.Summariser.Summarise(ctx, r); err != nil {
		return got, err
	}
	checked, err := summary.Check(got.Markdown, r.Items)
	got.Markdown, got.Dropped = checked.Markdown, got.Dropped+checked.Dropped
	return got, err
}

// The names of the counters.
const (
	requests   = "requests"
	hits       = "hits"       // found in memory or in the database
	merged     = "merged"     // waited for the call of another request
	misses     = "misses"     // the first request of a combination
	empties    = "empty"      // requests for periods without items
	noSources  = "no_sources" // requests of users without subscriptions
	failures   = "failures"
	calls      = "llm_calls"
	callErrors = "llm_errors"
	callTime   = "llm_ms"
	tokens     = "tokens"
	dropped    = "links_dropped"
)

// counter counts in memory, and writes the sums periodically: a write for each request
// would cost more than the request.
type counter struct {
	store   *store.Store
	mu      sync.Mutex // protects pending
	pending map[string]int64
}

func newCounter(s *store.Store) *counter { return &counter{store: s, pending: map[string]int64{}} }

func (c *counter) add(name string, n int64) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[name] += n
}

func (c *counter) outcome(r Result) {
	switch {
	case r.State == Empty:
		c.add(empties, 1)
	case r.Origin == FromMemory || r.Origin == FromDatabase:
		c.add(hits, 1)
	case r.Origin == FromMerge:
		c.add(merged, 1)
	case r.Origin == FromCall:
		c.add(misses, 1)
	}
}

// flush writes the sums. It keeps the sums that it cannot write for the next time.
func (c *counter) flush(ctx context.Context) error {
	c.mu.Lock()
	pending := c.pending
	c.pending = map[string]int64{}
	c.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	err := c.store.Write(ctx, func(tx *store.Tx) error { return tx.AddCounts(ctx, pending) })
	if err != nil {
		for name, n := range pending {
			c.add(name, n)
		}
	}
	return err
}
