package store

import (
	"context"
	"errors"
	"time"
)

// The errors of fetching that callers branch on.
var (
	// ErrClaimed says that another fetch of the source is under way.
	ErrClaimed = errors.New("store: the source is being fetched")

	// ErrLeaseLost says that a lease ran out, and that the source was given to
	// somebody else or deleted meanwhile. Nothing was stored.
	ErrLeaseLost = errors.New("store: the lease was lost")
)

// FetchState is a source and what is known of its fetches. Times that are zero have
// not come about.
type FetchState struct {
	Source
	LastFetchedAt time.Time     // the start of the last fetch that succeeded
	NextFetchAt   time.Time     // zero: at once
	Interval      time.Duration // what NextFetchAt was reckoned with; 0: nothing yet
	NotBefore     time.Time     // its origin asked for it
	BackoffUntil  time.Time     // it failed
	ClaimedUntil  time.Time     // it is being fetched, until then at most
	PausedAt      time.Time     // it was paused for its failures, or because it is gone
	Gone          bool          // its origin says that it will not come back
	FetchCount    int64         // fetches that succeeded
	ErrorCount    int64         // fetches that failed
	Failures      int           // those that failed since one succeeded
	LastError     string        // safe to show; empty since a fetch succeeded
	MovedTo       string        // where the last fetches were sent for good
	MovedSeen     int           // how many those were
	SeenHash      string        // of the answer whose items are stored
}

const fetchStateColumns = sourceColumns + `, s.last_fetched_at, s.next_fetch_at, coalesce(s.interval_ms, 0),
	s.not_before, s.backoff_until, s.claimed_until, s.paused_at, s.gone, s.fetch_count, s.fetch_error_count,
	s.consecutive_errors, coalesce(s.last_error, ''), coalesce(s.moved_to, ''), s.moved_seen, coalesce(s.seen_hash, '')`

func scanFetchState(r row) (f FetchState, err error) {
	s, ms := &f.Source, int64(0)
	err = r.Scan(&s.ID, &s.Name, &s.Type, inJSON{&s.Config}, &s.OwnerID, &s.CreatedBy,
		&s.Public, &s.Active, &s.Deleted, millis{&s.CreatedAt}, millis{&s.UpdatedAt}, millis{&s.DeletedAt},
		millis{&f.LastFetchedAt}, millis{&f.NextFetchAt}, &ms,
		millis{&f.NotBefore}, millis{&f.BackoffUntil}, millis{&f.ClaimedUntil}, millis{&f.PausedAt}, &f.Gone, &f.FetchCount, &f.ErrorCount,
		&f.Failures, &f.LastError, &f.MovedTo, &f.MovedSeen, &f.SeenHash)
	f.Interval = time.Duration(ms) * time.Millisecond
	return f, err
}

// FetchStates returns all sources but deleted ones, by id.
func (q queries) FetchStates(ctx context.Context) ([]FetchState, error) {
	return list(ctx, q.conn, scanFetchState, `SELECT `+fetchStateColumns+` FROM sources s WHERE s.is_deleted = 0 ORDER BY s.id`)
}

// FetchState returns a source that is not deleted.
func (q queries) FetchState(ctx context.Context, id int64) (FetchState, error) {
	return one(ctx, q.conn, scanFetchState, `SELECT `+fetchStateColumns+` FROM sources s WHERE s.is_deleted = 0 AND s.id = ?`, id)
}

// ResumeSource lets a source that was paused go on at once, with its failures
// forgotten: the way back by hand.
func (s *Store) ResumeSource(ctx context.Context, id int64) error {
	return s.Write(ctx, func(tx *Tx) error {
		return tx.exec(ctx, `UPDATE sources SET is_active = 1, paused_at = NULL, gone = 0, consecutive_errors = 0,
			last_error = NULL, backoff_until = NULL, not_before = NULL, next_fetch_at = ?2, updated_at = ?2
			WHERE id = ?1 AND is_deleted = 0`, id, toMillis(tx.now()))
	})
}

// SetInterval makes the next fetch of a source come an interval after its last one.
// What its failures or its origin asked for stands. A source that has not been fetched
// or has that interval already is left as it is.
func (tx *Tx) SetInterval(ctx context.Context, id int64, every time.Duration) error {
	_, err := tx.run(ctx, `UPDATE sources SET interval_ms = ?2, next_fetch_at = CASE
			WHEN consecutive_errors > 0 THEN next_fetch_at
			ELSE max(last_fetched_at + ?2, coalesce(not_before, 0)) END
		WHERE id = ?1 AND last_fetched_at IS NOT NULL AND interval_ms IS NOT ?2`, id, every.Milliseconds())
	return err
}
