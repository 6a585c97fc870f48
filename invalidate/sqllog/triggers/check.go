package triggers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// Cache is a cache whose keys the rows of a table stand for, such as a cache.Cache.
type Cache interface {
	// Namespace returns the namespace, which is the Key of a Row.
	Namespace() string

	// HashesKeys reports whether keys are hashed, so that SQL cannot spell them.
	HashesKeys() bool
}

// Check returns nil if tables have the triggers of [SQL], enabled and of the same text, and if these
// triggers can do what the Tables say. It changes nothing. Call it when a program starts, and after a
// migration; [Watch] calls it at intervals. db is the log's database, and cfg is that of the log. The
// caches are those of the program that the tables are to keep true: each must be the Key of a Row.
//
// An error wraps [ErrTable] if a Table does not fit its table or a cache: a table or a column is
// missing, a column has a type that cannot name a key, no Row names a cache, or its keys are hashed. It
// wraps [ErrNotInstalled] if the outbox is missing, or if triggers are missing, disabled, outdated,
// without the right to write to the outbox, or of a user who was dropped. Its text says which, and how
// to repair it. It reports all faults, joined. MariaDB shows its users only to some: where it does not,
// Check takes the user of a trigger for present.
func Check(ctx context.Context, db *sql.DB, cfg sqllog.Config, tables []Table, caches ...Cache) error {
	return withTables(ctx, "check", db, cfg, tables, caches, func(conn *sql.Conn, to *target, all []mapped) error {
		var errs []error
		for i := range all {
			faults, err := to.triggerFaults(ctx, conn, &all[i])
			if err != nil {
				return err
			}
			for _, f := range faults {
				errs = append(errs, fmt.Errorf("%w: %s", ErrNotInstalled, f))
			}
		}
		return errors.Join(errs...)
	})
}

// Install checks tables as [Check] does, and then runs what [SQL] returns. It is for tests and for
// programs without migrations. When it fails on PostgreSQL or SQLite, it has changed nothing. On
// MariaDB, an error of the check has changed nothing.
func Install(ctx context.Context, db *sql.DB, cfg sqllog.Config, tables ...Table) error {
	return withTables(ctx, "install", db, cfg, tables, nil, func(conn *sql.Conn, to *target, all []mapped) error {
		return sqltext.Install(ctx, func(ctx context.Context) error { return to.install(ctx, conn, all) })
	})
}

func (c *target) install(ctx context.Context, conn *sql.Conn, all []mapped) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing is left to roll back after COMMIT
	if c.dialect == sqltext.Postgres {
		if _, err := tx.ExecContext(ctx, postgresOneByOne); err != nil {
			return err
		}
	}
	for i := range all {
		do, _ := c.statements(&all[i])
		for _, s := range do {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// postgresOneByOne makes processes that start together install one after the other. PostgreSQL fails one
// of two that replace the same function. The number is any that no application uses.
const postgresOneByOne = "SELECT pg_catalog.pg_advisory_xact_lock(7169223408216654445)"

// withTables calls do with tables that pass their check in the database.
func withTables(ctx context.Context, op string, db *sql.DB, cfg sqllog.Config, tables []Table, caches []Cache, do func(*sql.Conn, *target, []mapped) error) error {
	to, all, err := prepare(cfg, tables)
	if err == nil {
		err = cacheFaults(all, caches)
	}
	switch {
	case err != nil:
		return err
	case db == nil:
		return fmt.Errorf("%w: db is nil; pass the log's database", sqllog.ErrConfig)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fail(op, err)
	}
	defer conn.Close() //nolint:errcheck // the pool has it back
	var errs []error
	for i := range all {
		faults, err := to.tableFaults(ctx, conn, &all[i])
		if err != nil {
			return fail(op, err)
		}
		errs = append(errs, faults...)
	}
	switch there, err := to.hasOutbox(ctx, conn); {
	case err != nil:
		return fail(op, err)
	case !there:
		errs = append(errs, fmt.Errorf("%w: the outbox %q is not there, and each write of the tables would fail: "+
			"apply sqllog.Migrations or call Log.Install first, or set Tables of the sqllog.Config to where it is", ErrNotInstalled, sqltext.Qualified(to.schema, to.outbox)))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return fail(op, do(conn, to, all))
}

// fail names the operation, and adds what an error of a database means.
func fail(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case sqltext.Says(err, sqltext.Pooled):
		err = fmt.Errorf("%w: %w", sqltext.ErrPooled, err)
	}
	return fmt.Errorf("triggers: %s: %w", op, err)
}
