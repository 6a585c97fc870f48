package collector

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// Status is all sources and their numbers: the union of the two forms in which the
// status is documented.
type Status struct {
	Sources []SourceStatus `json:"sources"`
	Stats   Stats          `json:"stats"`
}

// SourceStatus is one source. Nothing of its config is in it.
type SourceStatus struct {
	ID              int64      `json:"id"`
	Name            string     `json:"name"`
	Type            string     `json:"type"`
	IntervalMinutes int64      `json:"interval_minutes"`
	LastFetchedAt   *time.Time `json:"last_fetched_at"` // the start of the last fetch that succeeded
	NextFetchAt     *time.Time `json:"next_fetch_at"`   // null: at once, or not at all if paused or parked
	FetchCount      int64      `json:"fetch_count"`
	FetchErrorCount int64      `json:"fetch_error_count"`
	LastError       *string    `json:"last_error"`
	Status          string     `json:"status"` // see [StatusOf]

	ConsecutiveErrors int        `json:"consecutive_errors"`
	BackoffUntil      *time.Time `json:"backoff_until"` // it failed
	NotBefore         *time.Time `json:"not_before"`    // its origin asks for it
	PausedAt          *time.Time `json:"paused_at"`     // for its failures
}

// Stats are numbers over all sources that are not deleted. Those of 24 hours come from
// the log of fetches.
type Stats struct {
	TotalSources  int64 `json:"total_sources"`
	ActiveSources int64 `json:"active_sources"`
	PausedSources int64 `json:"paused_sources"`  // by anybody
	PausedByError int64 `json:"paused_by_error"` // of these, for their failures
	GoneSources   int64 `json:"gone_sources"`    // of these, because they are gone for good
	ParkedSources int64 `json:"parked_sources"`  // of a type that nobody can fetch
	DueSources    int64 `json:"due_sources"`
	InFlight      int64 `json:"in_flight"`
	Fetches24h    int64 `json:"fetches_24h"`
	Errors24h     int64 `json:"errors_24h"`
	RawItems24h   int64 `json:"raw_items_24h"` // new items and new versions
	Items24h      int64 `json:"items_24h"`     // the same under its other name
}

// Status returns the state of all sources.
func (c *Collector) Status(ctx context.Context) (st Status, err error) {
	err = c.cfg.Store.Read(ctx, func(r *store.Snapshot) error { // sources and numbers of one moment
		states, err := r.FetchStates(ctx)
		if err != nil {
			return err
		}
		st.Sources = make([]SourceStatus, 0, len(states))
		for _, s := range states {
			st.Sources = append(st.Sources, c.SourceStatus(s))
		}
		n, err := r.FetchStats(ctx, c.types, c.cfg.Store.Now().Add(-24*time.Hour))
		st.Stats = Stats{
			TotalSources: n.Total, ActiveSources: n.Active, PausedSources: n.Paused,
			PausedByError: n.PausedByError, GoneSources: n.Gone, ParkedSources: n.Parked, DueSources: n.Due, InFlight: n.InFlight,
			Fetches24h: n.Fetches, Errors24h: n.Errors, RawItems24h: n.NewItems, Items24h: n.NewItems,
		}
		return err
	})
	return st, err
}

// SourceStatus returns the status of one source, whose state the caller has read.
func (c *Collector) SourceStatus(s store.FetchState) SourceStatus {
	every, _ := c.cfg.Settings.Intervals.Source(s.Type, s.Config)
	out := SourceStatus{
		ID: s.ID, Name: s.Name, Type: s.Type, IntervalMinutes: int64(every / time.Minute),
		LastFetchedAt: orNull(s.LastFetchedAt), NextFetchAt: orNull(s.NextFetchAt),
		FetchCount: s.FetchCount, FetchErrorCount: s.ErrorCount, LastError: orNull(s.LastError),
		Status: c.StatusOf(s), ConsecutiveErrors: s.Failures,
		BackoffUntil: orNull(s.BackoffUntil), NotBefore: orNull(s.NotBefore), PausedAt: orNull(s.PausedAt),
	}
	if _, ok := c.cfg.Fetchers[s.Type]; !ok || (!s.Active && (s.PausedAt.IsZero() || s.Gone || c.cfg.Settings.Probe == 0)) {
		out.NextFetchAt = nil // none is planned
	}
	return out
}

// StatusOf returns the state of a source in a word: "parked" (of a type that nobody can
// fetch), "gone", "paused_by_error", "paused", "fetching", "error" (the last fetch
// failed), "pending" (never fetched) or "ok".
func (c *Collector) StatusOf(s store.FetchState) string {
	_, fetchable := c.cfg.Fetchers[s.Type]
	switch {
	case !fetchable:
		return "parked"
	case s.Gone:
		return "gone"
	case !s.Active && !s.PausedAt.IsZero():
		return "paused_by_error"
	case !s.Active:
		return "paused"
	case s.ClaimedUntil.After(c.cfg.Store.Now()):
		return "fetching"
	case s.Failures > 0:
		return "error"
	case s.LastFetchedAt.IsZero():
		return "pending"
	}
	return "ok"
}

// Health says whether sources are fetched when they are due, whichever process is to do
// that: it is read from the database, so that it shows a collector that has died. And it
// says whether anything comes in at all: sources that fail are not due while they wait, and
// never again once they are paused, so that nothing would look late after the network was
// down for long enough.
type Health struct {
	Status              string     `json:"status"` // "ok", "stalled", or "failing"
	OldestDueLagSeconds float64    `json:"oldest_due_lag_seconds"`
	DueSources          int64      `json:"due_sources"`
	InFlight            int64      `json:"in_flight"`
	FailingSources      int64      `json:"failing_sources"`
	LastSuccessAt       *time.Time `json:"last_success_at"`
}

// Stalled reports whether the oldest due source has waited for too long: ten ticks, a
// quarter of an hour at least; or whether every source fails.
func (h Health) Stalled() bool { return h.Status != "ok" }

// Health returns the health of the collectors on this database.
func (c *Collector) Health(ctx context.Context) (Health, error) {
	now := c.cfg.Store.Now()
	n, err := c.cfg.Store.FetchStats(ctx, c.types, now)
	if err != nil {
		return Health{Status: "stalled"}, err
	}
	h := Health{Status: "ok", DueSources: n.Due, InFlight: n.InFlight, FailingSources: n.Failing, LastSuccessAt: orNull(n.LastSuccess)}
	if n.Wanted > 0 && n.Failing == n.Wanted {
		h.Status = "failing"
	}
	if n.Due > 0 {
		lag := max(now.Sub(n.OldestDue), 0)
		h.OldestDueLagSeconds = lag.Seconds()
		if lag > max(10*c.cfg.Settings.Tick, 15*time.Minute) {
			h.Status = "stalled"
		}
	}
	return h, nil
}

// orNull returns nil for the zero value: null in JSON.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
