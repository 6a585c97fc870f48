package store

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
)

// Fetched is the result of a fetch.
type Fetched struct {
	Started     time.Time
	Took        time.Duration
	Interval    time.Duration // the interval that Plan is based on
	Plan        schedule.Plan
	Status      int    // HTTP status; zero means none
	Kind, Error string // the failure, as a word and as a line that are safe to show; empty means success
	Listed      bool   // Items are the complete current list; otherwise it is unchanged since Seen was stored
	Items       []Item
	Seen        string // the hash of the answer that Items come from
	NewURL      string // replaces the url in the source's config if the plan adopts it
}

// FinishFetch ends a lease and stores items, schedule and log entry in one transaction.
// With a lost lease it stores nothing and returns [ErrLeaseLost].
func (s *Store) FinishFetch(ctx context.Context, l Lease, f Fetched) (added Added, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		if err := tx.endLease(ctx, l, f); err != nil {
			return err
		}
		if f.Error == "" && f.Listed {
			if added, err = tx.addListed(ctx, l, f); err != nil {
				return err
			}
		}
		_, err := tx.Run(ctx, `INSERT INTO fetch_log (source_id, at, ok, status, items_new, ms, error_kind) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			l.State.ID, tx.now(), f.Error == "", f.Status, added.New+added.Updated, f.Took.Milliseconds(), f.Kind)
		return err
	})
	if err != nil {
		return Added{}, err
	}
	return added, nil
}

func (tx *Tx) endLease(ctx context.Context, l Lease, f Fetched) error {
	const where = ` WHERE id = ?1 AND claimed_by = ?2 AND is_deleted = 0`
	set, args := succeeded, []any{
		l.State.ID, l.Token, f.Plan.NextFetchAt, l.State.UpdatedAt, f.Interval.Milliseconds(),
		f.Started, f.Plan.NotBefore,
	}
	if f.Error != "" {
		set, args = failed, append(args[:5], tx.now(), f.Plan.Backoff, f.Plan.Failures, f.Error, f.Plan.Pause, f.Plan.Gone)
	}
	n, err := tx.Run(ctx, `UPDATE sources SET `+released+set+where, args...)
	if err == nil && n == 0 {
		err = ErrLeaseLost
	}
	if err != nil || f.Error != "" {
		return err
	}
	return tx.moved(ctx, l.State.ID, f)
}

// The changes of a fetch. A source that was edited meanwhile is due immediately. A success
// activates only a source that was paused for its failures. A failure does not change the
// pause of a source that a person paused.
const (
	released  = `claimed_until = NULL, claimed_by = NULL, interval_ms = ?5, next_fetch_at = CASE WHEN updated_at = ?4 THEN ?3 END, `
	succeeded = `last_fetched_at = ?6, not_before = CASE WHEN updated_at = ?4 THEN ?7 END, backoff_until = NULL, fetch_count = fetch_count + 1,
		consecutive_errors = 0, last_error = NULL, gone = 0,
		is_active = CASE WHEN paused_at IS NULL THEN is_active ELSE 1 END, paused_at = NULL`
	failed = `backoff_until = CASE WHEN updated_at = ?4 THEN ?7 END, fetch_error_count = fetch_error_count + 1, consecutive_errors = ?8, last_error = ?9,
		is_active = CASE WHEN ?10 THEN 0 ELSE is_active END, gone = max(gone, ?11),
		paused_at = CASE WHEN ?10 AND is_active = 1 THEN ?6 ELSE paused_at END`
)

// MovedFrom is the config field that keeps the original url of a source that has moved.
const MovedFrom = "moved_from"

func (tx *Tx) moved(ctx context.Context, id int64, f Fetched) error {
	if f.Plan.Adopt {
		return tx.Exec(ctx, `UPDATE sources SET config = json_set(config, '$.`+MovedFrom+`', coalesce(config ->> '$.`+MovedFrom+`', config ->> '$.url'),
			'$.url', ?2), moved_to = NULL, moved_seen = 0, updated_at = ?3 WHERE id = ?1`, id, f.NewURL, tx.now())
	}
	return tx.Exec(ctx, `UPDATE sources SET moved_to = nullif(?2, ''), moved_seen = ?3 WHERE id = ?1`, id, f.Plan.MovedTo, f.Plan.MovedSeen)
}

// addListed stores a listing. A fetch of unchanged content does not touch items, so the time of the
// last fetch is written first. Otherwise a missing item would look long gone, and be cleaned.
func (tx *Tx) addListed(ctx context.Context, l Lease, f Fetched) (added Added, err error) {
	id := l.State.ID
	_, err = tx.Run(ctx, `UPDATE raw_items SET last_seen_at = ?2 WHERE source_id = ?1 AND last_seen_at < ?2
		AND last_seen_at >= (SELECT listed_at FROM sources WHERE id = ?1)`, id, l.State.LastFetchedAt)
	if err == nil {
		added, err = tx.AddItems(ctx, id, f.Items)
	}
	if err != nil {
		return Added{}, err
	}
	return added, tx.Exec(ctx, `UPDATE sources SET listed_at = ?2, seen_hash = nullif(?3, '') WHERE id = ?1`, id, tx.now(), f.Seen)
}
