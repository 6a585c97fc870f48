package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// EmptyHash is the hash of no sources: SHA-256 of the empty string.
const EmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// JoinIDs returns a set of source ids in numeric order, each once, separated by commas.
func JoinIDs(ids []int64) []byte {
	ids = slices.Sorted(slices.Values(ids))
	var b []byte
	for i, id := range slices.Compact(ids) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return b
}

// idList returns a set of ids as an argument for json_each.
func idList(ids []int64) string { return "[" + string(JoinIDs(ids)) + "]" }

// Hash returns the hash of a set of source ids: SHA-256 of [JoinIDs] as 64 hexadecimal digits.
func Hash(ids []int64) string {
	sum := sha256.Sum256(JoinIDs(ids))
	return hex.EncodeToString(sum[:])
}

// effective are the subscriptions that count. A paused source counts, because a pause must not
// change the digests of its subscribers.
const effective = ` FROM user_subscriptions us JOIN sources s ON s.id = us.source_id
	WHERE us.is_active = 1 AND s.is_deleted = 0 AND (s.is_public = 1 OR s.owner_id = us.user_id)`

// Subscriptions are a user's subscriptions and their hash.
type Subscriptions struct {
	UserID    int64     `json:"user_id"`
	Hash      string    `json:"subscription_hash" db:"subscription_hash"` // as stored; [Store.Verify] compares it with SourceIDs
	SourceIDs []int64   `json:"source_ids" db:"source_ids"`               // ascending
	UpdatedAt time.Time `json:"updated_at"`
}

// Subscriptions returns a user's subscriptions. If there is no such user, it returns [ErrNotFound].
func (q queries) Subscriptions(ctx context.Context, user int64) (Subscriptions, error) {
	return sqlite.One[Subscriptions](ctx, q.Conn, `SELECT h.user_id, h.subscription_hash, h.updated_at, (SELECT json_group_array(id) FROM (
			SELECT us.source_id AS id`+effective+` AND us.user_id = h.user_id ORDER BY id)) AS source_ids
		FROM user_subscription_hashes h WHERE h.user_id = ?`, user)
}

// UsersByHash returns the users whose subscriptions have the given hash, by id.
func (q queries) UsersByHash(ctx context.Context, hash string) ([]int64, error) {
	return sqlite.List[int64](ctx, q.Conn,
		`SELECT user_id FROM user_subscription_hashes WHERE subscription_hash = ? ORDER BY user_id`, hash)
}

func (tx *Tx) touch(users ...int64) {
	for _, id := range users {
		tx.touched[id] = struct{}{}
	}
}

// touchSubscribers marks all users who ever subscribed to a source.
func (tx *Tx) touchSubscribers(ctx context.Context, source int64) error {
	users, err := sqlite.List[int64](ctx, tx.Conn,
		`SELECT user_id FROM user_subscriptions WHERE source_id = ?`, source)
	tx.touch(users...)
	return err
}

func (tx *Tx) writeHashes(ctx context.Context) error {
	if len(tx.touched) == 0 {
		return nil
	}
	ids := idList(slices.Collect(maps.Keys(tx.touched)))
	wrong, err := tx.drift(ctx, ` WHERE u.id IN (SELECT value FROM json_each(?))`, ids)
	for i := 0; i < len(wrong) && err == nil; i++ {
		d := wrong[i]
		_, err = tx.Run(ctx, `INSERT INTO user_subscription_hashes (user_id, subscription_hash, source_count, updated_at)
			VALUES (?, ?, ?, ?) ON CONFLICT (user_id) DO UPDATE SET subscription_hash = excluded.subscription_hash,
				source_count = excluded.source_count, updated_at = excluded.updated_at`, d.UserID, d.Want, d.sources, tx.now())
	}
	return err
}

// Drift is a user whose stored hash does not match the subscriptions.
type Drift struct {
	UserID  int64  `json:"user_id"`
	Kept    string `json:"kept"` // empty if none was stored
	Want    string `json:"want"`
	sources int    // the number of sources of Want
}

// Verify compares the stored hashes with the subscriptions. With fix it corrects the differences.
func (s *Store) Verify(ctx context.Context, fix bool) (found []Drift, err error) {
	if !fix {
		return s.drift(ctx, "")
	}
	err = s.Write(ctx, func(tx *Tx) error {
		found, err = tx.drift(ctx, "")
		for _, d := range found {
			tx.touch(d.UserID)
		}
		return err
	})
	return found, err
}

func (q queries) drift(ctx context.Context, where string, args ...any) (wrong []Drift, err error) {
	type row struct {
		Drift
		Count   int // of the sources of Kept
		Sources []int64
	}
	all, err := sqlite.List[row](ctx, q.Conn, `SELECT u.id AS user_id, h.subscription_hash AS kept, h.source_count AS count, (SELECT json_group_array(id) FROM (
			SELECT us.source_id AS id`+effective+` AND us.user_id = u.id ORDER BY id)) AS sources
		FROM users u LEFT JOIN user_subscription_hashes h ON h.user_id = u.id`+where+` ORDER BY u.id`, args...)
	for _, r := range all {
		r.Want, r.sources = Hash(r.Sources), len(r.Sources)
		if r.Kept != r.Want || r.Count != r.sources {
			wrong = append(wrong, r.Drift)
		}
	}
	return wrong, err
}
