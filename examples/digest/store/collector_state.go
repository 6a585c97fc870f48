package store

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// The errors of fetching that callers branch on.
var (
	ErrClaimed = errors.New("store: the source is being fetched") // another fetch is running
	// ErrLeaseLost means that the source was claimed again or deleted. Nothing was stored.
	ErrLeaseLost = errors.New("store: the lease was lost")
)

// FetchState is a source and the state of its fetches.
type FetchState struct {
	Source
	LastFetchedAt time.Time     // the start of the last fetch that succeeded
	NextFetchAt   time.Time     // zero means immediately
	Interval      time.Duration `db:"interval_ms"` // the interval that NextFetchAt is based on; zero means none yet
	NotBefore     time.Time     // requested by the origin
	BackoffUntil  time.Time     // after a failure
	ClaimedUntil  time.Time     // end of the running fetch's lease
	PausedAt      time.Time     // when it was paused for its failures, or because it is gone
	Gone          bool          // the origin says that it will not come back
	FetchCount    int64         // successful fetches
	ErrorCount    int64         `db:"fetch_error_count"`  // failed fetches
	Failures      int           `db:"consecutive_errors"` // failed fetches since the last success
	LastError     string        // safe to show; empty after a success
	MovedTo       string        // target of the last permanent redirects
	MovedSeen     int           // how many of these in a row
	SeenHash      string        // of the answer whose items are stored
}

// Leased reports whether the source is being fetched.
func (f FetchState) Leased(now time.Time) bool { return f.ClaimedUntil.After(now) }

const fetchStateColumns = sourceColumns + `, s.last_fetched_at, s.next_fetch_at, s.interval_ms,
	s.not_before, s.backoff_until, s.claimed_until, s.paused_at, s.gone, s.fetch_count, s.fetch_error_count,
	s.consecutive_errors, s.last_error, s.moved_to, s.moved_seen, s.seen_hash`

// FetchStates returns all sources except deleted ones, by id.
func (q queries) FetchStates(ctx context.Context) ([]FetchState, error) {
	return sqlite.List[FetchState](ctx, q.Conn, `SELECT `+fetchStateColumns+` FROM sources s WHERE s.is_deleted = 0 ORDER BY s.id`)
}

// FetchState returns a source that is not deleted.
func (q queries) FetchState(ctx context.Context, id int64) (FetchState, error) {
	return sqlite.One[FetchState](ctx, q.Conn, `SELECT `+fetchStateColumns+` FROM sources s WHERE s.is_deleted = 0 AND s.id = ?`, id)
}

// ResumeSource activates a paused source and resets its failures. It is due immediately.
func (s *Store) ResumeSource(ctx context.Context, id int64) error {
	return s.Write(ctx, func(tx *Tx) error {
		return tx.Exec(ctx, resume+` WHERE id = ?1 AND is_deleted = 0`, id, tx.now())
	})
}

const resume = `UPDATE sources SET is_active = 1, paused_at = NULL, gone = 0, consecutive_errors = 0,
	last_error = NULL, backoff_until = NULL, not_before = NULL, next_fetch_at = ?2, updated_at = ?2`

// ResumeFailed does the same for all sources whose last fetch failed with an error of these kinds.
func (s *Store) ResumeFailed(ctx context.Context, kinds ...string) error {
	list, err := sqlite.ToJSON(kinds)
	if err != nil {
		return err
	}
	_, err = s.run(ctx, resume+` WHERE is_deleted = 0 AND consecutive_errors > 0 AND (is_active = 1 OR paused_at IS NOT NULL)
		AND (SELECT error_kind FROM fetch_log WHERE source_id = sources.id ORDER BY at DESC, id DESC LIMIT 1)
			IN (SELECT value FROM json_each(?1))`, list, s.now().UnixMilli())
	return err
}

// SetInterval schedules the next fetch of a source an interval after its last one.
func (tx *Tx) SetInterval(ctx context.Context, id int64, every time.Duration) error {
	_, err := tx.Run(ctx, `UPDATE sources SET interval_ms = ?2, next_fetch_at = CASE
			WHEN consecutive_errors > 0 THEN next_fetch_at
			ELSE max(last_fetched_at + ?2, coalesce(not_before, 0)) END
		WHERE id = ?1 AND last_fetched_at IS NOT NULL AND interval_ms IS NOT ?2`, id, every.Milliseconds())
	return err
}

// FetchStats are statistics over all sources that are not deleted.
type FetchStats struct {
	TotalSources  int64     `json:"total_sources"`
	ActiveSources int64     `json:"active_sources"`
	PausedSources int64     `json:"paused_sources"`  // by hand, for their failures, or because they are gone
	PausedByError int64     `json:"paused_by_error"` // of these, paused for their failures
	GoneSources   int64     `json:"gone_sources"`    // of these, permanently gone
	ParkedSources int64     `json:"parked_sources"`  // of a type without a fetcher
	DueSources    int64     `json:"due_sources"`     // to be fetched now
	InFlight      int64     `json:"in_flight"`       // being fetched now
	Fetches24h    int64     `json:"fetches_24h"`
	Errors24h     int64     `json:"errors_24h"`
	RawItems24h   int64     `json:"raw_items_24h"` // new items and new versions
	Items24h      int64     `json:"items_24h"`     // the same number under its other name
	Wanted        int64     `json:"-"`             // sources with a fetcher that no person and no origin stopped
	Failing       int64     `json:"-"`             // of these, with at least FailingAfter failures in a row
	OldestDue     time.Time `json:"-"`
	LastSuccess   time.Time `json:"-"`
}

// FailingAfter failures in a row make a source count as failing. One or two are normal.
const FailingAfter = 3

// FetchStats counts sources, as a collector with claim c sees them, and fetches since a time.
func (q queries) FetchStats(ctx context.Context, c Claim, since time.Time) (st FetchStats, err error) {
	now := q.now()
	c.Probe, c.Skew = false, 0
	args, err := c.args(now)
	if err != nil {
		return st, err
	}
	st, err = sqlite.One[FetchStats](ctx, q.Conn, `SELECT count(*) AS total_sources, sum(is_active) AS active_sources, sum(1 - is_active) AS paused_sources,
			sum(is_active = 0 AND paused_at IS NOT NULL AND gone = 0) AS paused_by_error, sum(gone) AS gone_sources,
			sum(type NOT IN (SELECT value FROM json_each(?1))) AS parked_sources,
			sum(`+leased+`) AS in_flight, sum(wanted) AS wanted, sum(wanted AND consecutive_errors >= ?5) AS failing, max(last_fetched_at) AS last_success,
			(SELECT count(*) FROM fetch_log WHERE at BETWEEN ?6 AND ?3) AS fetches24h,
			(SELECT sum(1 - ok) FROM fetch_log WHERE at BETWEEN ?6 AND ?3) AS errors24h,
			(SELECT sum(items_new) FROM fetch_log WHERE at BETWEEN ?6 AND ?3) AS raw_items24h
		FROM (SELECT *, gone = 0 AND (is_active = 1 OR paused_at IS NOT NULL) AND type IN (SELECT value FROM json_each(?1)) AS wanted
			FROM sources WHERE is_deleted = 0) s`, append(args, FailingAfter, since)...)
	if err != nil {
		return st, err
	}
	type dues struct {
		N      int64
		Oldest time.Time
	}
	// A source that was never scheduled is due since its last change.
	d, err := sqlite.One[dues](ctx, q.Conn, `SELECT count(*) AS n, min(coalesce(s.next_fetch_at, s.updated_at)) AS oldest
		FROM sources s WHERE`+due, args...)
	st.DueSources, st.OldestDue, st.Items24h = d.N, d.Oldest, st.RawItems24h
	return st, err
}

// Cleaned counts the rows that [Store.Clean] deleted.
type Cleaned struct{ Items, Logs int64 }

// cleanBatch is the number of rows deleted at a time, because other writers must not wait long.
const cleanBatch = 500

// Clean deletes items that their source last listed before a time, and older log entries.
// Items that are still listed stay, because they would come back as new.
func (s *Store) Clean(ctx context.Context, before time.Time) (c Cleaned, err error) {
	c.Items, err = s.deleteAll(ctx, `DELETE FROM raw_items WHERE id IN (
		SELECT i.id FROM raw_items i JOIN sources s ON s.id = i.source_id
		WHERE i.last_seen_at < ?1 AND (s.is_deleted = 1 OR i.last_seen_at < coalesce(s.listed_at, 0)) LIMIT ?2)`, before)
	if err != nil {
		return c, err
	}
	c.Logs, err = s.deleteAll(ctx, `DELETE FROM fetch_log WHERE id IN (SELECT id FROM fetch_log WHERE at < ?1 LIMIT ?2)`, before)
	return c, err
}

func (s *Store) deleteAll(ctx context.Context, query string, before time.Time) (sum int64, err error) {
	for n := int64(cleanBatch); n == cleanBatch; sum += n {
		if n, err = s.run(ctx, query, before.UnixMilli(), cleanBatch); err != nil {
			return sum, err
		}
	}
	return sum, nil
}
