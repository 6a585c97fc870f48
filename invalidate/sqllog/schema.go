package sqllog

import (
	"context"
	"embed"
	"io/fs"
	"strings"
	"time"
)

//go:embed migrations
var migrations embed.FS

// Migrations returns the migrations of a dialect: for goose in folder goose, and for golang-migrate
// in folder migrate. Both create the same tables, and can remove them. For an unknown dialect it
// returns nil.
func Migrations(d Dialect) fs.FS {
	if d < Postgres || d > MySQL {
		return nil
	}
	sub, err := fs.Sub(migrations, "migrations/"+d.String())
	if err != nil {
		return nil // not reached: each dialect has a folder
	}
	return sub
}

// Schema returns the statements that create the tables of a dialect under their default names. Each
// ends with a semicolon and a newline. For an unknown dialect it returns "".
func Schema(d Dialect) string {
	text, err := migrations.ReadFile("migrations/" + d.String() + "/migrate/0001_twofold_log.up.sql")
	if err != nil {
		return ""
	}
	return string(text)
}

// Install creates the missing tables, under the names of the Config. It is for tests and for
// programs without migrations. Several processes may call it at once.
func (l *Log) Install(ctx context.Context) error {
	if err := l.Validate(); err != nil {
		return err
	}
	err := l.install(ctx)
	for range 10 { // when two processes create the same table or index, PostgreSQL fails one
		if err == nil || ctx.Err() != nil {
			break
		}
		pause(ctx, 20*time.Millisecond)
		err = l.install(ctx)
	}
	return fail("install", err)
}

func (l *Log) install(ctx context.Context) error {
	t := l.cfg.Tables
	names := strings.NewReplacer(
		"CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ",
		"CREATE INDEX ", "CREATE INDEX IF NOT EXISTS ",
		"twofold_outbox_pending", t.Outbox+"_pending", // an index is in the schema of its table
		"twofold_outbox", t.qualified(t.Outbox),
		"twofold_log", t.qualified(t.Log),
		"twofold_meta", t.qualified(t.Meta),
	)
	for statement := range strings.SplitSeq(Schema(l.cfg.Dialect), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := l.db.ExecContext(ctx, names.Replace(statement)); err != nil {
			return err
		}
	}
	return nil
}

// qualified returns the name of a table as statements use it.
func (t *Tables) qualified(name string) string {
	if t.Schema == "" {
		return name
	}
	return t.Schema + "." + name
}
