package store

import (
	"context"
	"time"
)

// FetchStats are numbers over all sources that are not deleted.
type FetchStats struct {
	Total, Active, Paused int64 // Paused: by anybody
	PausedByError, Gone   int64 // of these, for their failures, and because they are gone for good
	Parked                int64 // of a type that nobody can fetch
	InFlight              int64 // being fetched now
	Wanted                int64 // that can be fetched, and that neither a person nor its origin stopped
	Failing               int64 // of these, those that have failed FailingAfter times in a row, and more
	Due                   int64 // that should be fetched now and are not yet
	OldestDue             time.Time
	LastSuccess           time.Time
	Fetches, Errors       int64 // since the time asked for
	NewItems              int64 // new ones and new versions, since then
}

// FailingAfter is after how many failures in a row a source counts as failing: one or two
// are nothing unusual.
const FailingAfter = 3

// FetchStats counts sources, given the types that can be fetched, and fetches since a
// time.
func (q queries) FetchStats(ctx context.Context, types []string, since time.Time) (st FetchStats, err error) {
	in, err := toJSON(types)
	if err != nil {
		return st, err
	}
	now := q.now()
	row := q.db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(is_active), 0), coalesce(sum(1 - is_active), 0),
			coalesce(sum(is_active = 0 AND paused_at IS NOT NULL AND gone = 0), 0), coalesce(sum(gone), 0),
			coalesce(sum(type NOT IN (SELECT value FROM json_each(?1))), 0),
			coalesce(sum(claimed_until > ?2), 0), coalesce(sum(wanted), 0), coalesce(sum(wanted AND consecutive_errors >= ?3), 0),
			max(last_fetched_at)
		FROM (SELECT *, gone = 0 AND (is_active = 1 OR paused_at IS NOT NULL) AND type IN (SELECT value FROM json_each(?1)) AS wanted
			FROM sources WHERE is_deleted = 0)`, in, now.UnixMilli(), FailingAfter)
	if err := row.Scan(&st.Total, &st.Active, &st.Paused, &st.PausedByError, &st.Gone, &st.Parked,
		&st.InFlight, &st.Wanted, &st.Failing, millis{&st.LastSuccess}); err != nil {
		return st, err
	}
	// A source that was never planned is due since somebody last touched it.
	row = q.db.QueryRowContext(ctx, `SELECT count(*), min(coalesce(s.next_fetch_at, s.updated_at)) FROM sources s WHERE`+due,
		in, false, now.UnixMilli(), 0)
	if err := row.Scan(&st.Due, millis{&st.OldestDue}); err != nil {
		return st, err
	}
	row = q.db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(1 - ok), 0), coalesce(sum(items_new), 0)
		FROM fetch_log WHERE at >= ?`, since.UnixMilli())
	return st, row.Scan(&st.Fetches, &st.Errors, &st.NewItems)
}

// Cleaned is what [Store.Clean] removed.
type Cleaned struct{ Items, Logs int64 }

// cleanBatch is how many rows are deleted at a time, so that nobody waits long for
// the writer.
const cleanBatch = 500

// Clean removes the items that no source has listed since a time, and the log of
// fetches before it. What a source still lists stays, however old: it would come back
// with the next fetch, as new. The same goes for an item that a feed drops for a day.
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
		err = s.Write(ctx, func(tx *Tx) (err error) {
			n, err = tx.run(ctx, query, before.UnixMilli(), cleanBatch)
			return err
		})
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}
