package sqllogtest_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// A process that freezes while it starts an epoch holds a lock that all others need. PostgreSQL
// ends its transaction after an eighth of the bound.
func TestFrozenWhileStartingAnEpoch(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	frozen, release := make(chan struct{}), make(chan struct{})
	calls := 0
	slow := r.open(sqllog.Config{Bound: 800 * time.Millisecond, Identity: func(context.Context, *sql.Conn) (string, error) {
		if calls++; calls == 2 { // the first look, then the one under the lock
			close(frozen)
			<-release
		}
		return "here", nil
	}})
	over := make(chan error)
	go func() {
		_, err := slow.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
		over <- err
	}()
	<-frozen
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	other := r.open(sqllog.Config{Identity: func(context.Context, *sql.Conn) (string, error) { return "here", nil }})
	if _, err := other.Sync(ctx, invalidate.Cursor{}, invalidate.Append{}); err != nil {
		t.Errorf("Sync beside a frozen process = %v", err)
	}
	close(release)
	<-over //nolint:errcheck // it may find the other's epoch, or fail
	p := &process{t: t, log: other}
	if p.sync(); len(p.keys) != 1 {
		t.Errorf("records %+v, want one epoch", p.keys)
	}
}
