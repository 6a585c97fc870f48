package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Source is where items come from.
type Source struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name"`
	Type      string          `json:"type"`
	Config    json.RawMessage `json:"-"` // may hold keys: it never leaves the program
	OwnerID   int64           `json:"-"` // who sees it while it is private; 0: nobody
	CreatedBy int64           `json:"-"` // 0: not known
	Public    bool            `json:"is_public"`
	Active    bool            `json:"is_active"` // false: paused
	Deleted   bool            `json:"is_deleted"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
	DeletedAt time.Time       `json:"deleted_at,omitzero"`
}

const sourceColumns = `s.id, s.name, s.type, s.config, coalesce(s.owner_id, 0), coalesce(s.created_by, 0),
	s.is_public, s.is_active, s.is_deleted, s.created_at, s.updated_at, s.deleted_at`

func scanSource(r row) (s Source, err error) {
	err = r.Scan(&s.ID, &s.Name, &s.Type, inJSON{&s.Config}, &s.OwnerID, &s.CreatedBy,
		&s.Public, &s.Active, &s.Deleted, millis{&s.CreatedAt}, millis{&s.UpdatedAt}, millis{&s.DeletedAt})
	return s, err
}

// Source returns a source, deleted or not.
func (q queries) Source(ctx context.Context, id int64) (Source, error) {
	return one(ctx, q.conn, scanSource, `SELECT `+sourceColumns+` FROM sources s WHERE s.id = ?`, id)
}

// Sources returns the sources, deleted ones too, that have the given ids, by id.
func (q queries) Sources(ctx context.Context, ids []int64) ([]Source, error) {
	in, err := toJSON(ids)
	if err != nil {
		return nil, err
	}
	return list(ctx, q.conn, scanSource, `SELECT `+sourceColumns+` FROM sources s
		WHERE s.id IN (SELECT value FROM json_each(?)) ORDER BY s.id`, in)
}

// VisibleSources returns the sources that a user may subscribe to, by id. User 0 sees
// those that are public.
func (q queries) VisibleSources(ctx context.Context, user int64) ([]Source, error) {
	return list(ctx, q.conn, scanSource, `SELECT `+sourceColumns+` FROM sources s WHERE `+visible+` ORDER BY s.id`, user)
}

// AddSource adds a source and returns its id. ID, Active, Deleted and the times are the
// store's.
func (tx *Tx) AddSource(ctx context.Context, s Source) (int64, error) {
	if s.Type == "" {
		return 0, fmt.Errorf("%w: a source needs a type", ErrInvalid)
	}
	if len(s.Config) > 0 && !json.Valid(s.Config) {
		return 0, fmt.Errorf("%w: a source's config is %d bytes that are no JSON", ErrInvalid, len(s.Config))
	}
	now := toMillis(tx.now())
	return tx.insert(ctx, `INSERT INTO sources (name, type, config, owner_id, created_by, is_public, created_at, updated_at)
		VALUES (?, ?, ?, nullif(?, 0), nullif(?, 0), ?, ?, ?)`,
		s.Name, s.Type, orEmpty(s.Config), s.OwnerID, s.CreatedBy, s.Public, now, now)
}

// DeleteSource marks a source as deleted: it leaves everybody's hash. Its items stay,
// and so do the subscriptions, for [Tx.RestoreSource].
func (tx *Tx) DeleteSource(ctx context.Context, id int64) error {
	return tx.changeSource(ctx, id, `is_deleted = 1, deleted_at = ?2`)
}

// RestoreSource undoes DeleteSource: it comes back to the hashes of those who are
// still subscribed.
func (tx *Tx) RestoreSource(ctx context.Context, id int64) error {
	return tx.changeSource(ctx, id, `is_deleted = 0, deleted_at = NULL`)
}

// SetSourcePublic shows a source to everybody, or to its owner alone: others who
// subscribed to it lose it from their hashes.
func (tx *Tx) SetSourcePublic(ctx context.Context, id int64, public bool) error {
	if public {
		return tx.changeSource(ctx, id, `is_public = 1`)
	}
	return tx.changeSource(ctx, id, `is_public = 0`)
}

// SetSourceActive pauses a source or lets it go on. It stays in everybody's hash.
func (tx *Tx) SetSourceActive(ctx context.Context, id int64, active bool) error {
	return tx.exec(ctx, `UPDATE sources SET is_active = ?3, updated_at = ?2 WHERE id = ?1`, id, toMillis(tx.now()), active)
}

// changeSource changes what decides who counts a source among the subscriptions.
func (tx *Tx) changeSource(ctx context.Context, id int64, set string) error {
	err := tx.exec(ctx, `UPDATE sources SET `+set+`, updated_at = ?2 WHERE id = ?1`, id, toMillis(tx.now()))
	if err != nil {
		return err
	}
	return tx.touchSubscribers(ctx, id)
}
