package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// Source is a source of items.
type Source struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name"`
	Type      string          `json:"type"`
	Config    json.RawMessage `json:"-"`                  // may hold keys: it never leaves the program
	OwnerID   int64           `json:"owner_id,omitempty"` // the only user who sees it while it is private; zero means none
	CreatedBy int64           `json:"-"`                  // 0 means unknown
	Public    bool            `json:"is_public" db:"is_public"`
	Active    bool            `json:"is_active" db:"is_active"` // otherwise it is paused
	Deleted   bool            `json:"is_deleted" db:"is_deleted"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
	DeletedAt time.Time       `json:"deleted_at,omitzero"`
}

const sourceColumns = `s.id, s.name, s.type, s.config, s.owner_id, s.created_by,
	s.is_public, s.is_active, s.is_deleted, s.created_at, s.updated_at, s.deleted_at`

// Source returns a source, deleted or not.
func (q queries) Source(ctx context.Context, id int64) (Source, error) {
	return sqlite.One[Source](ctx, q.Conn, `SELECT `+sourceColumns+` FROM sources s WHERE s.id = ?`, id)
}

// Sources returns the sources with the given ids, including deleted ones, by id.
func (q queries) Sources(ctx context.Context, ids []int64) ([]Source, error) {
	return sqlite.List[Source](ctx, q.Conn, `SELECT `+sourceColumns+` FROM sources s
		WHERE s.id IN (SELECT value FROM json_each(?)) ORDER BY s.id`, idList(ids))
}

// AllSources returns all sources, including deleted ones, by id.
func (q queries) AllSources(ctx context.Context) ([]Source, error) {
	return sqlite.List[Source](ctx, q.Conn, `SELECT `+sourceColumns+` FROM sources s ORDER BY s.id`)
}

// AddSource adds a source and returns its id. The store sets ID, Active, Deleted and the times.
func (tx *Tx) AddSource(ctx context.Context, s Source) (int64, error) {
	if s.Type == "" {
		return 0, fmt.Errorf("%w: a source needs a type", ErrInvalid)
	}
	if len(s.Config) > 0 && !json.Valid(s.Config) {
		return 0, fmt.Errorf("%w: a source's config is %d bytes that are not JSON", ErrInvalid, len(s.Config))
	}
	now := tx.now()
	return sqlite.One[int64](ctx, tx.Conn, `INSERT INTO sources (name, type, config, owner_id, created_by, is_public, created_at, updated_at)
		VALUES (?, ?, ?, nullif(?, 0), nullif(?, 0), ?, ?, ?) RETURNING id`,
		s.Name, s.Type, orEmpty(s.Config), s.OwnerID, s.CreatedBy, s.Public, now, now)
}

// DeleteSource marks a source as deleted. It no longer counts in the hashes of its subscribers.
func (tx *Tx) DeleteSource(ctx context.Context, id int64) error {
	return tx.changeSource(ctx, id, `is_deleted = 1, deleted_at = ?2`)
}

// RestoreSource undoes DeleteSource. The source counts again in the hashes of its subscribers.
func (tx *Tx) RestoreSource(ctx context.Context, id int64) error {
	return tx.changeSource(ctx, id, `is_deleted = 0, deleted_at = NULL`)
}

// SourceEdit changes a source. Nil fields do not change.
type SourceEdit struct {
	Name   *string         `json:"name"`
	Type   *string         `json:"type"`
	Config json.RawMessage `json:"config"`
	Public *bool           `json:"is_public"` // if false, only its owner sees it, and it no longer counts in the hashes of others
}

// EditSource changes a source. A source with a new type or config is due immediately, like a new
// one.
func (tx *Tx) EditSource(ctx context.Context, id int64, e SourceEdit) error {
	err := tx.Exec(ctx, `UPDATE sources SET name = coalesce(?3, name), type = coalesce(?4, type), config = coalesce(nullif(?5, ''), config),
		is_public = coalesce(?6, is_public), updated_at = ?2 WHERE id = ?1`, id, tx.now(), e.Name, e.Type, string(e.Config), e.Public)
	if err == nil && (e.Type != nil || len(e.Config) > 0) {
		// A fetch of the old address loses its lease, and stores nothing.
		err = tx.Exec(ctx, `UPDATE sources SET last_fetched_at = NULL, next_fetch_at = NULL, claimed_until = NULL, claimed_by = NULL,
			consecutive_errors = 0, last_error = NULL, backoff_until = NULL, paused_at = NULL, moved_to = NULL, moved_seen = 0, gone = 0,
			interval_ms = NULL, not_before = NULL, listed_at = NULL, seen_hash = NULL, is_active = 1 WHERE id = ?`, id)
	}
	if err == nil && e.Public != nil {
		err = tx.touchSubscribers(ctx, id)
	}
	return err
}

// PauseSource pauses a source until it is resumed, or edited to fetch something else. Neither a probe
// nor a success of a fetch ends the pause.
func (tx *Tx) PauseSource(ctx context.Context, id int64) error {
	return tx.Exec(ctx, `UPDATE sources SET is_active = 0, paused_at = NULL, updated_at = ?2 WHERE id = ?1 AND is_deleted = 0`, id, tx.now())
}

// changeSource makes a change that affects the hashes of the source's subscribers.
func (tx *Tx) changeSource(ctx context.Context, id int64, set string) error {
	err := tx.Exec(ctx, `UPDATE sources SET `+set+`, updated_at = ?2 WHERE id = ?1`, id, tx.now())
	if err != nil {
		return err
	}
	return tx.touchSubscribers(ctx, id)
}
