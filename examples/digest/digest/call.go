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

var (
	// ErrPanic means that the summariser panicked. The text omits the value: it may quote an item.
	ErrPanic = errors.New("digest: the summariser panicked")
	// ErrBudget means that the calls of this hour are used up. The error is a [BudgetError].
	ErrBudget = errors.New("digest: the budget is used up")
)

// BudgetError says how long no digest is generated.
type BudgetError struct {
	Limit int64 // calls per hour
	Until time.Time
}

// Error gives the limit and the end of the pause.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("%v: %d calls per hour, until %s", ErrBudget, e.Limit, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrBudget].
func (e *BudgetError) Unwrap() error { return ErrBudget }

// CacheCode implements [cache.Coder].
func (e *BudgetError) CacheCode() string { return "budget" }

// RefusedError means that a digest could not be generated, and gives the time of the next attempt.
type RefusedError struct {
	Until    time.Time
	Attempts int
	Reason   string // of the last attempt
	Err      error  // of the last attempt; nil in later calls
}

// Error gives the reason and the time of the next attempt.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("digest: attempt %d failed, the next is at %s: %s", e.Attempts, e.Until.UTC().Format(time.RFC3339), e.Reason)
}

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }

// CacheCode implements [cache.Coder].
func (e *RefusedError) CacheCode() string { return "refused" }

// pause returns a minute, doubled with each failure up to six hours, or up to 15 minutes
// for a server that does not answer.
func pause(before int, err error) time.Duration {
	most := 6 * time.Hour
	if errors.Is(err, summary.ErrUnavailable) {
		most = 15 * time.Minute
	}
	return min(time.Minute<<min(before, 10), most)
}

// call runs the summariser, at most maxCalls at a time. It counts the call before it
// starts, because a crash must not hide it, and records the cost immediately after it.
func (s *Service) call(ctx context.Context, r summary.Request) (got summary.Summary, err error) {
	if err := s.calls.Acquire(ctx, 1); err != nil {
		return got, err
	}
	defer s.calls.Release(1)
	if err := s.spend(ctx); err != nil {
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
	if err != nil {
		return summary.Summary{}, fmt.Errorf("digest: summary of %d items: %w", len(r.Items), err)
	}
	return got, nil
}

func (s *Service) spend(ctx context.Context) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		if limit := s.cfg.CallsPerHour; limit > 0 {
			used, err := tx.Counts(ctx, s.hour())
			if err != nil {
				return err
			}
			if used[calls] >= limit {
				return &BudgetError{Limit: limit, Until: s.hour().Add(time.Hour)}
			}
		}
		return tx.AddCounts(ctx, map[string]int64{calls: 1})
	})
}

func (s *Service) hour() time.Time { return s.store.Now().UTC().Truncate(time.Hour) }

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

// Generation reports whether digests can be generated now.
type Generation struct {
	Status       string    `json:"status"`           // "ok", "budget used up" or "refused"
	Reason       string    `json:"reason,omitempty"` // why not
	Until        time.Time `json:"until,omitzero"`   // end of the budget's hour
	Waiting      int64     `json:"waiting"`          // digests that wait for their next attempt
	CallsPerHour int64     `json:"calls_per_hour,omitempty"`
	CallsNow     int64     `json:"calls_this_hour"`
}

// Generation reports whether digests can be generated now, in any process.
func (s *Service) Generation(ctx context.Context) (g Generation, err error) {
	g = Generation{Status: "ok", CallsPerHour: s.cfg.CallsPerHour}
	err = s.store.Read(ctx, func(r *store.Snapshot) error {
		if g.Waiting, g.Reason, err = r.Waiting(ctx); err != nil {
			return err
		}
		counts, err := r.Counts(ctx, s.hour())
		g.CallsNow = counts[calls]
		return err
	})
	switch {
	case g.CallsPerHour > 0 && g.CallsNow >= g.CallsPerHour:
		g.Until = s.hour().Add(time.Hour)
		g.Status, g.Reason = "budget used up", (&BudgetError{Limit: g.CallsPerHour, Until: g.Until}).Error()
	case g.Waiting > 0:
		g.Status = "refused"
	}
	return g, err
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
	stale      = "stale"
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
