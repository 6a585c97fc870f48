package store

import (
	"context"
	"slices"
	"time"
)

// effective are the subscriptions that count: active ones, to sources that are not
// deleted and that the user may see. A source that is paused (is_active = 0) counts:
// it brings no items, and pausing it must not make everybody's digests anew.
const effective = ` FROM user_subscriptions us JOIN sources s ON s.id = us.source_id
	WHERE us.is_active = 1 AND s.is_deleted = 0 AND (s.is_public = 1 OR s.owner_id = us.user_id)`

// Subscriptions is what a user is subscribed to, and what that hashes to.
type Subscriptions struct {
	UserID    int64     `json:"user_id"`
	Hash      string    `json:"subscription_hash"` // as it is kept; [Store.Verify] compares it with SourceIDs
	SourceIDs []int64   `json:"source_ids"`        // ascending
	UpdatedAt time.Time `json:"updated_at"`
}

// Subscriptions returns what a user is subscribed to. It is of one moment. Without
// such a user it returns [ErrNotFound].
func (q queries) Subscriptions(ctx context.Context, user int64) (Subscriptions, error) {
	return one(ctx, q.conn, func(r row) (s Subscriptions, err error) {
		err = r.Scan(&s.UserID, &s.Hash, millis{&s.UpdatedAt}, inJSON{&s.SourceIDs})
		return s, err
	}, `SELECT h.user_id, h.subscription_hash, h.updated_at, (SELECT json_group_array(id) FROM (
			SELECT us.source_id AS id`+effective+` AND us.user_id = h.user_id ORDER BY id))
		FROM user_subscription_hashes h WHERE h.user_id = ?`, user)
}

// SubscriptionHash returns the hash that is kept of a user's subscriptions and of
// how many sources it is made.
func (q queries) SubscriptionHash(ctx context.Context, user int64) (hash string, sources int, err error) {
	s, err := one(ctx, q.conn, func(r row) (s struct {
		hash    string
		sources int
	}, err error,
	) {
		err = r.Scan(&s.hash, &s.sources)
		return s, err
	}, `SELECT subscription_hash, source_count FROM user_subscription_hashes WHERE user_id = ?`, user)
	return s.hash, s.sources, err
}

// UsersByHash returns the users whose subscriptions hash to hash, by id.
func (q queries) UsersByHash(ctx context.Context, hash string) ([]int64, error) {
	return list(ctx, q.conn, scanValue[int64],
		`SELECT user_id FROM user_subscription_hashes WHERE subscription_hash = ? ORDER BY user_id`, hash)
}

// touch marks users whose subscriptions this write changes.
func (tx *Tx) touch(users ...int64) {
	for _, id := range users {
		tx.touched[id] = struct{}{}
	}
}

// touchSubscribers marks all who ever subscribed to a source. It says so of those
// who have left, too; their hash comes out as it was.
func (tx *Tx) touchSubscribers(ctx context.Context, source int64) error {
	users, err := list(ctx, tx.conn, scanValue[int64],
		`SELECT user_id FROM user_subscriptions WHERE source_id = ?`, source)
	tx.touch(users...)
	return err
}

// writeHashes writes the hashes of the touched users, and returns who they are.
func (tx *Tx) writeHashes(ctx context.Context) ([]int64, error) {
	if len(tx.touched) == 0 {
		return nil, nil
	}
	users := make([]int64, 0, len(tx.touched))
	for id := range tx.touched {
		users = append(users, id)
	}
	slices.Sort(users)
	wanted, err := tx.compute(ctx, users)
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		if err := tx.putHash(ctx, w); err != nil {
			return nil, err
		}
	}
	return users, nil
}

func (tx *Tx) putHash(ctx context.Context, s Subscriptions) error {
	_, err := tx.run(ctx, `INSERT INTO user_subscription_hashes (user_id, subscription_hash, source_count, updated_at)
		VALUES (?, ?, ?, ?) ON CONFLICT (user_id) DO UPDATE SET
			subscription_hash = excluded.subscription_hash, source_count = excluded.source_count,
			updated_at = excluded.updated_at
		WHERE subscription_hash != excluded.subscription_hash OR source_count != excluded.source_count`,
		s.UserID, s.Hash, len(s.SourceIDs), toMillis(tx.now()))
	return err
}

// compute returns what the given users are subscribed to and what it should hash to,
// from the subscriptions and not from what is kept. Nil asks for all users. It is one
// query however many there are.
func (q queries) compute(ctx context.Context, users []int64) ([]Subscriptions, error) {
	only, args := "", []any{}
	if users != nil {
		ids, err := toJSON(users)
		if err != nil {
			return nil, err
		}
		only, args = ` WHERE u.id IN (SELECT value FROM json_each(?))`, []any{ids}
	}
	return list(ctx, q.conn, func(r row) (s Subscriptions, err error) {
		err = r.Scan(&s.UserID, inJSON{&s.SourceIDs})
		s.Hash = Hash(s.SourceIDs)
		return s, err
	}, `SELECT u.id, (SELECT json_group_array(id) FROM (
			SELECT us.source_id AS id`+effective+` AND us.user_id = u.id ORDER BY id))
		FROM users u`+only+` ORDER BY u.id`, args...)
}
