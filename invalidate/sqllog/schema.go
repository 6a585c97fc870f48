package sqllog

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/twofold-go/twofold/internal/logwire"
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

// Install creates the missing tables, under the names of the Config. It refuses a name that a table of
// the program has: [ErrConfig]; and tables of another version: [ErrSchema]. It is for tests and for
// programs without migrations. Several processes may call it concurrently.
func (l *Log) Install(ctx context.Context) error {
	if err := l.Validate(); err != nil {
		return err
	}
	err := l.foreignTables(ctx)
	if err == nil {
		err = sqltext.Install(ctx, l.install)
	}
	if err == nil {
		err = l.checkVersion(ctx)
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

// install runs the statements of the migration under the names of the Config.
func (l *Log) install(ctx context.Context) error {
	t := l.cfg.Tables
	names := strings.NewReplacer(
		"CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ",
		"CREATE INDEX ", "CREATE INDEX IF NOT EXISTS ",
		"twofold_outbox_pending", t.Outbox+"_pending", // an index is in the schema of its table
		"twofold_outbox", sqltext.Qualified(t.Schema, t.Outbox),
		"twofold_log", sqltext.Qualified(t.Schema, t.Log),
		"twofold_meta", sqltext.Qualified(t.Schema, t.Meta),
	)
	return sqltext.Apply(ctx, l.db, Schema(l.cfg.Dialect), names)
}

// checkVersion refuses tables that were there already, of another version.
func (l *Log) checkVersion(ctx context.Context) error {
	var others int
	err := l.db.QueryRowContext(ctx, "SELECT count(*) FROM "+l.sql.meta+" WHERE version <> "+logwire.Version).Scan(&others)
	if err == nil && others > 0 {
		err = fmt.Errorf("%w (%d logs are of another version than %s)", ErrSchema, others, logwire.Version)
	}
	return err
}
