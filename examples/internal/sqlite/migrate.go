package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pressly/goose/v3"
)

// ErrSchema means that a database was made by another program, by a newer version, or with
// migrations that were edited later. It was not changed.
var ErrSchema = errors.New("the schema is not one of this program: use the program that made the database, or name another one")

// Migrate applies the goose migrations of a folder. A nil folder has none. It stores the hash
// of the applied files, and refuses a database with the hash of others. It retries for a
// second, because another process may migrate at the same time.
func Migrate(ctx context.Context, db *sql.DB, d goose.Dialect, folder fs.FS) error {
	if folder == nil {
		return nil
	}
	p, err := goose.NewProvider(d, db, folder)
	if err != nil {
		return err
	}
	hashes, err := Hashes(folder)
	if err != nil {
		return err
	}
	return repeat(ctx, func(error) bool { return true }, func() error {
		version, err := p.GetDBVersion(ctx)
		if err != nil {
			return err
		}
		if err := upgrade(ctx, Conn{db}, p, version, hashes); err != nil {
			return fmt.Errorf("schema version %d: %w", version, err)
		}
		return nil
	})
}

// upgrade also accepts the hash of fewer files than were applied: a process may have died before
// it stored the last one. A database without a hash was made before there were hashes.
func upgrade(ctx context.Context, c Conn, p *goose.Provider, version int64, hashes []string) error {
	if _, err := c.Run(ctx, `CREATE TABLE IF NOT EXISTS schema_identity (id INTEGER PRIMARY KEY CHECK (id = 1), hash TEXT NOT NULL)`); err != nil {
		return err
	}
	stored, err := One[string](ctx, c, `SELECT coalesce((SELECT hash FROM schema_identity), '')`)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	if stored != "" && !slices.Contains(hashes, stored) || version > sources[len(sources)-1].Version {
		return ErrSchema
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("the upgrade failed; if another program made the database, name another one: %w", err)
	}
	if last := hashes[len(hashes)-1]; stored != last {
		return c.Exec(ctx, `INSERT INTO schema_identity (id, hash) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET hash = excluded.hash`, last)
	}
	return nil
}

// Hashes returns for each migration of a folder the hash of all files up to it.
func Hashes(folder fs.FS) (all []string, err error) {
	names, err := fs.Glob(folder, "*.sql")
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(sum, "%s %d ", name, len(text))
		sum.Write(text)
		all = append(all, hex.EncodeToString(sum.Sum(nil)))
	}
	return all, nil
}
