package store

import (
	"context"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
)

// MaxVersions is how many versions of one item are stored. Some feeds change the text
// of every item at every fetch, by a counter or a signed link in it: beyond this an
// item is taken for one of those, and only seen.
const MaxVersions = 10

// Fetched is how a fetch went.
type Fetched struct {
	Started  time.Time
	Took     time.Duration
	Interval time.Duration // what Plan was reckoned with
	Plan     schedule.Plan
	Status   int // of HTTP; 0: there was none

	// Kind and Error say in a word and in a line what went wrong; both are safe to
	// show. An empty Error is a success.
	Kind, Error string

	// Listed says that Items are all there is now; false, that nothing has changed
	// since Seen was stored.
	Listed bool
	Items  []Item
	Seen   string // the hash of the answer that Items are from

	// NewURL replaces the url in the source's config if the plan says to adopt it.
	NewURL string
}

// FinishFetch ends a lease and stores what came of it: items, schedule and log in one
// transaction, so that a crash leaves all of it or nothing, and the source is fetched
// again. A lease that was lost stores nothing and is [ErrLeaseLost].
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
		_, err := tx.insert(ctx, `INSERT INTO fetch_log (source_id, at, ok, status, items_new, ms, error_kind) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			l.State.ID, toMillis(tx.now()), f.Error == "", f.Status, added.New+added.Updated, f.Took.Milliseconds(), f.Kind)
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
		l.State.ID, l.Token, toMillis(f.Plan.NextFetchAt), toMillis(l.State.UpdatedAt), f.Interval.Milliseconds(),
		toMillis(f.Started), toMillis(f.Plan.NotBefore),
	}
	if f.Error != "" {
		set, args = failed, append(args[:5], toMillis(tx.now()), toMillis(f.Plan.Backoff), f.Plan.Failures, f.Error, f.Plan.Pause, f.Plan.Gone)
	}
	n, err := tx.run(ctx, `UPDATE sources SET `+released+set+where, args...)
	if err == nil && n == 0 {
		err = ErrLeaseLost
	}
	if err != nil || f.Error != "" {
		return err
	}
	return tx.moved(ctx, l.State.ID, f)
}

// What a fetch leaves behind. A source that somebody has edited meanwhile is due at
// once: what was fetched may not be what it says now. Only a source that was paused
// for its failures is brought back by a success, and only one that nobody paused by
// hand is paused by a failure.
const (
	released = `claimed_until = NULL, claimed_by = NULL, interval_ms = ?5, next_fetch_at = CASE WHEN updated_at = ?4 THEN ?3 END, `

	succeeded = `last_fetched_at = ?6, not_before = CASE WHEN updated_at = ?4 THEN ?7 END, backoff_until = NULL, fetch_count = fetch_count + 1,
		consecutive_errors = 0, last_error = NULL, gone = 0,
		is_active = CASE WHEN paused_at IS NULL THEN is_active ELSE 1 END, paused_at = NULL`

	failed = `backoff_until = CASE WHEN updated_at = ?4 THEN ?7 END, fetch_error_count = fetch_error_count + 1, consecutive_errors = ?8, last_error = ?9,
		is_active = CASE WHEN ?10 THEN 0 ELSE is_active END, gone = max(gone, ?11),
		paused_at = CASE WHEN ?10 AND is_active = 1 THEN ?6 ELSE paused_at END`
)

// MovedFrom is the field of a source's config that keeps the url it was added with, once it
// has moved: whoever adds that source again means this one.
const MovedFrom = "moved_from"

// moved notes where the source was sent to for good, and makes that its address when
// the plan says so.
func (tx *Tx) moved(ctx context.Context, id int64, f Fetched) error {
	if f.Plan.Adopt {
		return tx.exec(ctx, `UPDATE sources SET config = json_set(config, '$.`+MovedFrom+`', coalesce(config ->> '$.`+MovedFrom+`', config ->> '$.url'),
			'$.url', ?2), moved_to = NULL, moved_seen = 0, updated_at = ?3 WHERE id = ?1`, id, f.NewURL, toMillis(tx.now()))
	}
	return tx.exec(ctx, `UPDATE sources SET moved_to = nullif(?2, ''), moved_seen = ?3 WHERE id = ?1`, id, f.Plan.MovedTo, f.Plan.MovedSeen)
}

// addListed stores a listing, each item of it once: two entries of one key would
// replace each other at every fetch.
func (tx *Tx) addListed(ctx context.Context, l Lease, f Fetched) (Added, error) {
	id := l.State.ID
	if err := tx.seenUntilNow(ctx, l); err != nil {
		return Added{}, err
	}
	frozen, err := list(ctx, tx.conn, scanValue[string],
		`SELECT item_key FROM raw_items WHERE source_id = ? AND version >= ?`, id, MaxVersions)
	if err != nil {
		return Added{}, err
	}
	now := toMillis(tx.now())
	var items []Item
	seen := map[string]bool{}
	for _, it := range f.Items {
		key := ItemKey(it)
		switch {
		case seen[key]:
		case slices.Contains(frozen, key):
			if err := tx.exec(ctx, `UPDATE raw_items SET last_seen_at = ? WHERE source_id = ? AND item_key = ? AND version >= ?`,
				now, id, key, MaxVersions); err != nil {
				return Added{}, err
			}
		default:
			items = append(items, it)
		}
		seen[key] = true
	}
	added, err := tx.AddItems(ctx, id, items)
	if err != nil {
		return Added{}, err
	}
	return added, tx.exec(ctx, `UPDATE sources SET listed_at = ?2, seen_hash = nullif(?3, '') WHERE id = ?1`, id, now, f.Seen)
}

// seenUntilNow notes of the items of the last listing that they were still listed when the
// source last said that nothing had changed. Those fetches do not touch items. Without this
// one that is missing from the new listing would look as if nobody had seen it for as long
// as the old one stood, and be cleaned away at once.
func (tx *Tx) seenUntilNow(ctx context.Context, l Lease) error {
	_, err := tx.run(ctx, `UPDATE raw_items SET last_seen_at = ?2 WHERE source_id = ?1 AND last_seen_at < ?2
		AND last_seen_at >= (SELECT listed_at FROM sources WHERE id = ?1)`, l.State.ID, toMillis(l.State.LastFetchedAt))
	return err
}
