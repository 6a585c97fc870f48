package sqltier

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/twofold-go/twofold/internal/sqltext"
)

//go:embed migrations
var migrations embed.FS

// Migrations returns the migrations of a dialect: for goose in folder goose, and for
// golang-migrate in folder migrate. Both create the same table, and can remove it. Their number
// follows that of sqllog.Migrations, so both fit into one folder. For an unknown dialect it
// returns nil.
func Migrations(d Dialect) fs.FS {
	return sqltext.Sub(migrations, d.String())
}

// Schema returns the statements that create the table of a dialect under its default name. Each
// ends with a semicolon and a newline. For an unknown dialect it returns "".
func Schema(d Dialect) string {
	return sqltext.Up(migrations, d.String(), "")
}

// Install creates the table if it is missing, under the name of the Config. It refuses a name that
// another table has: [ErrConfig]. It is for tests and for programs without migrations. Several
// processes may call it concurrently.
func (t *Tier) Install(ctx context.Context) (err error) {
	if err := t.ready(ctx); err != nil {
		return fail("install", err)
	}
	foreign, err := sqltext.IsForeign(ctx, t.db, t.cfg.Table, "key, cell, until")
	switch {
	case err != nil:
	case foreign:
		err = fmt.Errorf("%w: Table is the name of a table that is there and has other columns; choose another name", ErrConfig)
	default:
		err = sqltext.Install(ctx, t.install)
	}
	return fail("install", err)
}

func (t *Tier) install(ctx context.Context) error {
	table := t.cfg.Table
	name := table[strings.LastIndexByte(table, '.')+1:]
	names := strings.NewReplacer(
		"TABLE twofold_cells", "TABLE IF NOT EXISTS "+table, "INDEX twofold_cells_until", "INDEX IF NOT EXISTS "+name+"_until",
		"ALTER TABLE twofold_cells", "ALTER TABLE "+table, "ON twofold_cells", "ON "+table)
	return sqltext.Apply(ctx, t.db, Schema(t.cfg.Dialect), names)
}
