package sqllog

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/twofold-go/twofold/internal/sqltext"
)

//go:embed migrations
var migrations embed.FS

// Migrations returns the migrations of a dialect: for goose in folder goose, and for golang-migrate
// in folder migrate. Both create the same tables, and can remove them. A later version of this package
// may add files but never changes one. The number 0002 is that of package sqltier. For an unknown
// dialect it returns nil.
func Migrations(d Dialect) fs.FS {
	return sqltext.Sub(migrations, d.String())
}

// Schema returns the statements that create the tables of a dialect under their default names. Each
// ends with a semicolon and a newline. For an unknown dialect it returns "".
func Schema(d Dialect) string { return sqltext.Up(migrations, d.String(), "") }

// The migration that only Config.Names needs.
const namesFile = "0004_twofold_names"

// Install creates the missing tables, under the names of the Config, and brings those of an earlier
// version up to date. It refuses a name that a table of the program has: [ErrConfig]. It is for tests and
// for programs without migrations. Several processes may call it concurrently.
func (l *Log) Install(ctx context.Context) error {
	if err := l.Validate(); err != nil {
		return err
	}
	err := l.foreignTables(ctx)
	if err == nil {
		err = sqltext.Install(ctx, l.install)
	}
	return fail("install", err)
}

// foreignTables refuses tables that have the names of the log's, and are not the log's. The statements of
// the migrations would leave them as they are, or change them.
func (l *Log) foreignTables(ctx context.Context) error {
	var errs []error
	for _, t := range []struct{ field, name, columns string }{ // those of the first migration
		{"Outbox", l.sql.outbox, "id, ns, scopes, at"},
		{"Log", l.sql.log, "ns, seq, pos, prev, at, id, after, payload"},
		{"Meta", l.sql.meta, "ns, version, identity, epoch, key_end, scope_end, key_id, scope_id, bound, tier"},
	} {
		switch foreign, err := sqltext.IsForeign(ctx, l.db, t.name, t.columns); {
		case err != nil:
			return err
		case foreign:
			errs = append(errs, fmt.Errorf("%w: Tables.%s is the name of a table that is there and has other columns; choose another name", ErrConfig, t.field))
		}
	}
	return errors.Join(errs...)
}

func (l *Log) install(ctx context.Context) error {
	column := map[Dialect]string{Postgres: "born", MariaDB: "wit", SQLite: "ns"}[l.cfg.Dialect]
	for _, m := range []struct{ file, missing string }{ // the query has a row, or fails, if the migration is missing or half done
		{"0001_twofold_log", ""},
		{"0003_twofold_witness", "SELECT 1 FROM " + l.sql.meta + " WHERE version < 2 OR " + column + " IS NULL LIMIT 1"}, // none for SQLite
		{namesFile, "SELECT 1 FROM " + l.sql.log + " WHERE names IS NULL AND 1 = 0"},
	} {
		if m.missing != "" {
			err := l.db.QueryRowContext(ctx, m.missing).Scan(new(int))
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil && !sqltext.Says(err, sqltext.NoTable, sqltext.NoColumn) {
				return err
			}
		}
		if err := l.apply(ctx, m.file); err != nil {
			return err
		}
	}
	return nil
}

// apply runs the statements of a migration under the names of the Config.
func (l *Log) apply(ctx context.Context, file string) error {
	t := l.cfg.Tables
	names := strings.NewReplacer(
		"CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ",
		"CREATE INDEX ", "CREATE INDEX IF NOT EXISTS ",
		"twofold_outbox_pending", t.Outbox+"_pending", // an index is in the schema of its table
		"twofold_outbox", sqltext.Qualified(t.Schema, t.Outbox),
		"twofold_log", sqltext.Qualified(t.Schema, t.Log),
		"twofold_meta", sqltext.Qualified(t.Schema, t.Meta),
	)
	return sqltext.Apply(ctx, l.db, sqltext.Up(migrations, l.cfg.Dialect.String(), file), names)
}
