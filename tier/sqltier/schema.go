package sqltier

import (
	"context"
	"embed"
	"io/fs"
	"strings"
	"time"
)

//go:embed migrations
var migrations embed.FS

// Migrations returns the migrations of a dialect: for goose in folder goose, and for
// golang-migrate in folder migrate. Both create the same table, and can remove it. Their number
// follows that of sqllog.Migrations, so both fit into one folder. For an unknown dialect it
// returns nil.
func Migrations(d Dialect) fs.FS {
	if d != SQLite && d != Postgres {
		return nil
	}
	sub, err := fs.Sub(migrations, "migrations/"+d.String())
	if err != nil {
		return nil // not reached: each dialect has a folder
	}
	return sub
}

// Schema returns the statements that create the table of a dialect under its default name. Each
// ends with a semicolon and a newline. For an unknown dialect it returns "".
func Schema(d Dialect) string {
	text, err := migrations.ReadFile("migrations/" + d.String() + "/migrate/0002_twofold_cells.up.sql")
	if err != nil {
		return ""
	}
	return string(text)
}

// Install creates the table if it is missing, under the name of the Config. It is for tests and
// for programs without migrations. Several processes may call it at once.
func (t *Tier) Install(ctx context.Context) (err error) {
	if err := t.ready(ctx); err != nil {
		return fail("install", err)
	}
	for range 10 { // when two processes create the same table or index, PostgreSQL fails one
		if err = t.install(ctx); err == nil || ctx.Err() != nil {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond): // let the other process finish
		case <-ctx.Done():
		}
	}
	return fail("install", err)
}

func (t *Tier) install(ctx context.Context) error {
	table := t.cfg.Table
	name := table[strings.LastIndexByte(table, '.')+1:]
	names := strings.NewReplacer(
		"TABLE twofold_cells", "TABLE IF NOT EXISTS "+table, "INDEX twofold_cells_until", "INDEX IF NOT EXISTS "+name+"_until",
		"ALTER TABLE twofold_cells", "ALTER TABLE "+table, "ON twofold_cells", "ON "+table)
	for statement := range strings.SplitSeq(Schema(t.cfg.Dialect), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := t.db.ExecContext(ctx, names.Replace(statement)); err != nil {
			return err
		}
	}
	return nil
}
