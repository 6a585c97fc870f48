package sqllogtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// listener is a connection that has executed LISTEN.
type listener struct {
	conn *pgx.Conn
	got  []string
}

func listen(t *testing.T, r *rig) *listener {
	t.Helper()
	l := &listener{}
	cfg, err := pgx.ParseConfig(r.postgres.DSN(r.name))
	if err != nil {
		t.Fatal(err)
	}
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { l.got = append(l.got, n.Channel+" "+n.Payload) }
	if l.conn, err = pgx.ConnectConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.conn.Close(t.Context()) })
	if _, err := l.conn.Exec(t.Context(), "LISTEN "+sqllog.Channel); err != nil {
		t.Fatal(err)
	}
	return l
}

// heard returns the notifications since the last call. The server sends them before it answers a
// later statement.
func (l *listener) heard(t *testing.T) []string {
	t.Helper()
	if _, err := l.conn.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.conn.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	got := l.got
	l.got = nil
	return got
}
