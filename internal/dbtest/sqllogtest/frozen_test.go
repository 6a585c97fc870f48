package sqllogtest_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// freezer stops a process after the statement that locks the row of meta.
type freezer struct{ frozen, release chan struct{} }

type lockKey struct{}

func (f *freezer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, lockKey{}, strings.HasSuffix(q.SQL, "FOR UPDATE"))
}

func (f *freezer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if locked, _ := ctx.Value(lockKey{}).(bool); locked {
		select {
		case f.frozen <- struct{}{}:
			<-f.release
		case <-f.release: // it freezes once
		}
	}
}

// A process that freezes while it starts an epoch holds a lock that all others need. PostgreSQL
// ends its transaction after an eighth of the bound.
func TestFrozenWhileStartingAnEpoch(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	cfg, err := pgx.ParseConfig(r.postgres.DSN(r.name))
	if err != nil {
		t.Fatal(err)
	}
	f := &freezer{frozen: make(chan struct{}), release: make(chan struct{})}
	cfg.Tracer = f
	db := sql.OpenDB(stdlib.GetConnector(*cfg))
	t.Cleanup(func() { _ = db.Close() })
	slow := sqllog.New(db, sqllog.Config{Dialect: sqllog.Postgres, Bound: 800 * time.Millisecond})
	over := make(chan error)
	go func() {
		_, err := slow.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
		over <- err
	}()
	<-f.frozen
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	other := r.open(sqllog.Config{})
	if _, err := other.Sync(ctx, invalidate.Cursor{}, invalidate.Append{}); err != nil {
		t.Errorf("Sync beside a frozen process = %v", err)
	}
	close(f.release)
	<-over //nolint:errcheck // it may find the other's epoch, or fail
	p := &process{t: t, log: other}
	if p.sync(); len(p.keys) != 1 {
		t.Errorf("records %+v, want one epoch", p.keys)
	}
}
