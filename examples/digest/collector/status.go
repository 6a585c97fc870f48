package collector

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// Status is the state of all sources, with statistics.
type Status struct {
	Sources []SourceStatus `json:"sources"`
	Stats   Stats          `json:"stats"`
}

// SourceStatus is the state of one source. It contains nothing of its config.
type SourceStatus struct {
	ID                int64      `json:"id"`
	Name              string     `json:"name"`
	Type              string     `json:"type"`
	IntervalMinutes   int64      `json:"interval_minutes"`
	LastFetchedAt     *time.Time `json:"last_fetched_at"` // the start of the last fetch that succeeded
	NextFetchAt       *time.Time `json:"next_fetch_at"`   // null means immediately, or never if paused or parked
	FetchCount        int64      `json:"fetch_count"`
	FetchErrorCount   int64      `json:"fetch_error_count"`
	LastError         *string    `json:"last_error"`
	Status            string     `json:"status"` // see [Collector.StatusOf]
	ConsecutiveErrors int        `json:"consecutive_errors"`
	BackoffUntil      *time.Time `json:"backoff_until"` // after failures
	NotBefore         *time.Time `json:"not_before"`    // requested by the origin
	PausedAt          *time.Time `json:"paused_at"`     // after too many failures
}

// Stats are statistics over all sources that are not deleted.
type Stats = store.FetchStats

// Status returns the state of all sources, with statistics as of the same moment.
func (c *Collector) Status(ctx context.Context) (st Status, err error) {
	err = c.cfg.Store.Read(ctx, func(r *store.Snapshot) error {
		states, err := r.FetchStates(ctx)
		if err != nil {
			return err
		}
		st.Sources = make([]SourceStatus, len(states))
		for i, s := range states {
			st.Sources[i] = c.SourceStatus(s)
		}
		st.Stats, err = r.FetchStats(ctx, c.wants(0), c.cfg.Store.Now().Add(-24*time.Hour))
		return err
	})
	return st, err
}

// SourceStatus returns the status of one source.
func (c *Collector) SourceStatus(s store.FetchState) SourceStatus {
	every, _ := c.cfg.Settings.Intervals.Source(s.Type, s.Config)
	out := SourceStatus{
		ID: s.ID, Name: s.Name, Type: s.Type, IntervalMinutes: int64(every / time.Minute),
		LastFetchedAt: orNull(s.LastFetchedAt), NextFetchAt: orNull(s.NextFetchAt),
		FetchCount: s.FetchCount, FetchErrorCount: s.ErrorCount, LastError: orNull(s.LastError),
		Status: c.StatusOf(s), ConsecutiveErrors: s.Failures,
		BackoffUntil: orNull(s.BackoffUntil), NotBefore: orNull(s.NotBefore), PausedAt: orNull(s.PausedAt),
	}
	paused := !s.Active && (s.PausedAt.IsZero() || s.Gone || c.cfg.Settings.Probe == 0)
	if paused || c.cfg.Fetchers[s.Type] == nil {
		out.NextFetchAt = nil // no fetch is planned
	}
	return out
}

// StatusOf returns the state of a source as one word. "parked" means that its type has no fetcher.
func (c *Collector) StatusOf(s store.FetchState) string {
	switch {
	case c.cfg.Fetchers[s.Type] == nil:
		return "parked"
	case s.Gone:
		return "gone"
	case !s.Active && !s.PausedAt.IsZero():
		return "paused_by_error"
	case !s.Active:
		return "paused"
	case s.Leased(c.cfg.Store.Now()):
		return "fetching"
	case s.Failures > 0:
		return "error"
	case s.LastFetchedAt.IsZero():
		return "pending"
	}
	return "ok"
}

// Health reports whether the collectors of a database fetch sources on time.
type Health struct {
	// Status is "ok"; "stalled" if a source has been due for more than ten ticks and 15
	// minutes; or "failing" if every source fails.
	Status              string     `json:"status"`
	OldestDueLagSeconds float64    `json:"oldest_due_lag_seconds"`
	DueSources          int64      `json:"due_sources"`
	InFlight            int64      `json:"in_flight"`
	FailingSources      int64      `json:"failing_sources"`
	LastSuccessAt       *time.Time `json:"last_success_at"`
}

// Stalled reports whether Status is not "ok".
func (h Health) Stalled() bool { return h.Status != "ok" }

// Health reads the health from the database.
func (c *Collector) Health(ctx context.Context) (Health, error) {
	now := c.cfg.Store.Now()
	n, err := c.cfg.Store.FetchStats(ctx, c.wants(0), now)
	if err != nil {
		return Health{Status: "stalled"}, err
	}
	h := Health{
		Status: "ok", DueSources: n.DueSources, InFlight: n.InFlight,
		FailingSources: n.Failing, LastSuccessAt: orNull(n.LastSuccess),
	}
	if n.DueSources > 0 {
		h.OldestDueLagSeconds = max(now.Sub(n.OldestDue), 0).Seconds()
	}
	switch {
	case h.OldestDueLagSeconds > max(10*c.cfg.Settings.Tick, 15*time.Minute).Seconds():
		h.Status = "stalled"
	case n.Wanted > 0 && n.Failing == n.Wanted:
		h.Status = "failing"
	}
	return h, nil
}

func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
