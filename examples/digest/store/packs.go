package store

import (
	"context"
	"fmt"
	"time"
)

// Pack is a set of sources that is installed in one step.
type Pack struct {
	ID           int64     `json:"id"`
	Slug         string    `json:"slug"`
	Name         string    `json:"name"`
	Description  string    `json:"description"`
	Default      bool      `json:"is_default"` // what a new user starts with; at most one is
	InstallCount int64     `json:"install_count"`
	SourceIDs    []int64   `json:"source_ids"` // ascending
	CreatedAt    time.Time `json:"created_at"`
}

const packColumns = `p.id, p.slug, p.name, p.description, p.is_default, p.install_count, p.created_at, (
	SELECT json_group_array(x.source_id ORDER BY x.source_id) FROM source_pack_sources x WHERE x.pack_id = p.id)`

func scanPack(r row) (p Pack, err error) {
	err = r.Scan(&p.ID, &p.Slug, &p.Name, &p.Description, &p.Default, &p.InstallCount, millis{&p.CreatedAt},
		inJSON{&p.SourceIDs})
	return p, err
}

// Packs returns all packs, the most installed first.
func (q queries) Packs(ctx context.Context) ([]Pack, error) {
	return list(ctx, q.conn, scanPack, `SELECT `+packColumns+` FROM source_packs p ORDER BY p.install_count DESC, p.slug`)
}

// PackBySlug returns a pack.
func (q queries) PackBySlug(ctx context.Context, slug string) (Pack, error) {
	return one(ctx, q.conn, scanPack, `SELECT `+packColumns+` FROM source_packs p WHERE p.slug = ?`, slug)
}

// AddPack adds a pack and returns its id. CreatedAt and InstallCount are the store's.
func (tx *Tx) AddPack(ctx context.Context, p Pack) (int64, error) {
	if p.Slug == "" {
		return 0, fmt.Errorf("%w: a pack needs a slug", ErrInvalid)
	}
	id, err := tx.insert(ctx, `INSERT INTO source_packs (slug, name, description, is_default, created_at) VALUES (?, ?, ?, ?, ?)`,
		p.Slug, p.Name, p.Description, p.Default, toMillis(tx.now()))
	if err != nil {
		return 0, err
	}
	ids, err := toJSON(p.SourceIDs)
	if err != nil {
		return 0, err
	}
	_, err = tx.run(ctx, `INSERT INTO source_pack_sources (pack_id, source_id) SELECT DISTINCT ?, value FROM json_each(?)`, id, ids)
	return id, err
}
