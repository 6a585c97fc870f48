package sqllog

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"strings"

	"github.com/twofold-go/twofold/internal/sqlschema"
)

//go:embed migrations
var migrations embed.FS

// Migrations returns the migrations of a dialect: for goose in folder goose, and for golang-migrate
// in folder migrate. Both create the same tables, and can remove them. A later version of this package
// may add files but never changes one. The number 0002 is that of package sqltier. For an unknown
// dialect it returns nil.
func Migrations(d Dialect) fs.FS {
	return sqlschema.Sub(migrations, d.String())
}

// Schema returns the statements that create the tables of a dialect under their default names. Each
// ends with a semicolon and a newline. For an unknown dialect it returns "".
func Schema(d Dialect) string {
	return upText(d, tablesFile) + upText(d, witnessFile) + upText(d, namesFile)
}

// The migrations. SQLite does not have the second. Only Config.Names needs the third.
const (
	tablesFile  = "0001_twofold_log"
	witnessFile = "0003_twofold_witness"
	namesFile   = "0004_twofold_names"
)

// upText returns the statements of a migration, or "" if the dialect does not have it.
func upText(d Dialect, name string) string {
	return sqlschema.Up(migrations, d.String(), name)
}

// Install creates the missing tables, under the names of the Config, and brings those of an earlier
// version up to date. It is for tests and for programs without migrations. Several processes may
// call it concurrently.
func (l *Log) Install(ctx context.Context) error {
	if err := l.Validate(); err != nil {
		return err
	}
	return fail("install", sqlschema.Install(ctx, l.install))
}

func (l *Log) install(ctx context.Context) error {
	if err := l.apply(ctx, tablesFile); err != nil {
		return err
	}
	old, err := l.outdatedTables(ctx)
	if err == nil && old {
		err = l.apply(ctx, witnessFile)
	}
	if err != nil {
		return err
	}
	err = l.db.QueryRowContext(ctx, "SELECT names FROM "+l.sql.log+" LIMIT 1").Scan(new(any))
	switch {
	case sqlschema.Says(err, sqlschema.NoColumn):
		return l.apply(ctx, namesFile)
	case errors.Is(err, sql.ErrNoRows):
		return nil
	}
	return err
}

// outdatedTables reports whether the tables are of an earlier version, or half of one.
func (l *Log) outdatedTables(ctx context.Context) (bool, error) {
	column := map[Dialect]string{Postgres: "born", MySQL: "wit"}[l.cfg.Dialect]
	if column == "" {
		return false, nil
	}
	err := l.db.QueryRowContext(ctx, "SELECT 1 FROM "+l.sql.meta+" WHERE version < 2 OR "+column+" IS NULL LIMIT 1").Scan(new(int))
	switch {
	case err == nil, sqlschema.Says(err, sqlschema.NoTable, sqlschema.NoColumn):
		return true, nil
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	}
	return false, err
}

// apply runs the statements of a migration. It skips what is there already.
func (l *Log) apply(ctx context.Context, file string) error {
	t := l.cfg.Tables
	names := strings.NewReplacer(
		"CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ",
		"CREATE INDEX ", "CREATE INDEX IF NOT EXISTS ",
		"twofold_outbox_pending", t.Outbox+"_pending", // an index is in the schema of its table
		"twofold_outbox", t.qualified(t.Outbox),
		"twofold_log", t.qualified(t.Log),
		"twofold_meta", t.qualified(t.Meta),
	)
	return sqlschema.Apply(ctx, l.db, upText(l.cfg.Dialect, file), names, func(err error) bool {
		return sqlschema.Says(err, sqlschema.There)
	})
}

// qualified returns the name of a table as statements use it.
func (t *Tables) qualified(name string) string {
	if t.Schema == "" {
		return name
	}
	return t.Schema + "." + name
}
