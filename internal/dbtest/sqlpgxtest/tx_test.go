package sqlpgxtest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/sqlpgx"
)

// native is a log that shares a pool of native pgx.
type native struct {
	t    *testing.T
	pool *pgxpool.Pool
	log  *sqllog.Log
	at   invalidate.Cursor
}

func newNative(t *testing.T) *native {
	t.Helper()
	r := newRig(t, dbtest.Postgres(t))
	pool, err := pgxpool.New(t.Context(), r.DSN(r.name))
	check(t, err)
	t.Cleanup(pool.Close)
	_, err = pool.Exec(t.Context(), "CREATE TABLE users (id bigint PRIMARY KEY, name text)")
	check(t, err)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { _ = db.Close() })
	n := &native{t: t, pool: pool, log: sqllog.New(db, sqllog.Config{Dialect: sqllog.Postgres})}
	n.sync()
	return n
}

// sync returns the hashes of the tags that are new.
func (n *native) sync() (tags []uint64) {
	n.t.Helper()
	p, err := n.log.Sync(n.t.Context(), n.at, invalidate.Append{})
	check(n.t, err)
	for _, rec := range p.Scopes {
		for _, f := range rec.Fences {
			tags = append(tags, f.Scope.Hash())
		}
	}
	n.at = p.End
	return tags
}

// want checks that exactly these tags were invalidated since the last call.
func (n *native) want(what string, tags ...invalidate.Scope) {
	n.t.Helper()
	var want []uint64
	for _, s := range tags {
		want = append(want, s.Hash())
	}
	got := n.sync()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		n.t.Errorf("%s: invalidated %x, want %x", what, got, want)
	}
}

// write renames the user and appends scopes in one transaction of pgx.
func (n *native) write(tx pgx.Tx, name string, scopes ...invalidate.Scope) error {
	_, err := tx.Exec(n.t.Context(), "INSERT INTO users VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET name = $1", name)
	return errors.Join(err, n.log.Append(n.t.Context(), sqlpgx.Tx(tx), scopes...))
}

func (n *native) name() (name string) {
	n.t.Helper()
	check(n.t, n.pool.QueryRow(n.t.Context(), "SELECT coalesce(max(name), '') FROM users").Scan(&name))
	return name
}

func tag(name string) invalidate.Scope { return invalidate.Tag("t", name) }

// A transaction of pgx invalidates when it commits, and with it the data.
func TestTx(t *testing.T) {
	n := newNative(t)
	in := func(do func(tx pgx.Tx) error) error { return pgx.BeginFunc(t.Context(), n.pool, do) }

	check(t, in(func(tx pgx.Tx) error { return n.write(tx, "Ada", tag("a"), tag("b")) }))
	n.want("a commit", tag("a"), tag("b"))

	back := errors.New("roll back")
	if err := in(func(tx pgx.Tx) error { return errors.Join(n.write(tx, "Grace", tag("a")), back) }); !errors.Is(err, back) {
		t.Fatal(err)
	}
	n.want("a rollback")

	check(t, in(func(tx pgx.Tx) error {
		inner := pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error { return errors.Join(n.write(tx, "Barbara", tag("c")), back) })
		if !errors.Is(inner, back) {
			return inner
		}
		return pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error { return n.write(tx, "Hedy", tag("d")) })
	}))
	n.want("a savepoint that was rolled back, and one that was not", tag("d"))

	check(t, in(func(tx pgx.Tx) error {
		b := new(pgx.Batch)
		b.Queue("UPDATE users SET name = 'Katherine'")
		queue := sqllog.ExecFunc(func(_ context.Context, query string, args ...any) error { b.Queue(query, args...); return nil })
		return errors.Join(n.log.Append(t.Context(), queue, tag("e")), tx.SendBatch(t.Context(), b).Close())
	}))
	n.want("a batch", tag("e"))
	if name := n.name(); name != "Katherine" {
		t.Errorf("the user is %q", name)
	}
}

// After an error of Append nothing of the transaction commits.
func TestTxFails(t *testing.T) {
	n := newNative(t)
	if err := n.log.Append(t.Context(), sqlpgx.Tx(nil), tag("a")); !errors.Is(err, sqllog.ErrNotTx) {
		t.Errorf("Append without a transaction = %v, want ErrNotTx", err)
	}
	tx, err := n.pool.Begin(t.Context())
	check(t, err)
	check(t, tx.Rollback(t.Context()))
	if err := n.log.Append(t.Context(), sqlpgx.Tx(tx), tag("a")); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("Append to a closed transaction = %v, want pgx.ErrTxClosed", err)
	}
	_, err = n.pool.Exec(t.Context(), "DROP TABLE twofold_outbox")
	check(t, err)
	err = pgx.BeginFunc(t.Context(), n.pool, func(tx pgx.Tx) error { return n.write(tx, "Ada", tag("a")) })
	if !errors.Is(err, sqllog.ErrSchema) {
		t.Errorf("a write without the outbox = %v, want ErrSchema", err)
	}
	if name := n.name(); name != "" {
		t.Errorf("%q was written without its invalidation", name)
	}
}
