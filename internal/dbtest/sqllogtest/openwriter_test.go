package sqllogtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// A session that reads uncommitted rows must not number them.
func TestReadUncommittedRefused(t *testing.T) {
	t.Parallel()
	r := sharedMariaDB(t)
	p := r.process(t, sqllog.Config{})
	db := openAs(t, "mysql", r.mariadb.DSN(r.name)+"&tx_isolation='READ-UNCOMMITTED'")
	tx := begin(t, r.db)
	if err := p.log.Append(t.Context(), tx, org(1)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if page, err := sqllog.New(db, sqllog.Config{Dialect: r.dialect}).Sync(ctx, p.at, invalidate.Append{}); !errors.Is(err, sqllog.ErrStandby) {
		t.Errorf("Sync = %+v, %v; want ErrStandby", page, err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	p.want(org(1))
}

// A transaction that stays open after its Append does not delay other records.
func TestOpenWriter(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		if r.dialect == sqllog.SQLite {
			t.Skip("its only writer is the open transaction")
		}
		p := r.process(t, sqllog.Config{})
		for _, rows := range []int{1, 3, 10, 100, 1000, 2500} {
			row := `('[["t","default","org:1"]]')`
			r.exec(t, "INSERT INTO twofold_outbox (scopes) VALUES "+row+strings.Repeat(", "+row, rows/2))
			tx := begin(t, r.db)
			if err := p.log.Append(t.Context(), tx, org(1)); err != nil {
				t.Fatal(err)
			}
			r.exec(t, "INSERT INTO twofold_outbox (scopes) VALUES "+row+strings.Repeat(", "+row, rows/2))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			page, err := p.log.Sync(ctx, p.at, invalidate.Append{})
			if err != nil {
				t.Errorf("Sync beside an open writer, with %d rows = %v", rows, err)
			}
			if err := p.log.Append(ctx, tx, org(2)); err != nil {
				t.Errorf("Append beside a Sync, with %d rows = %v", rows, err)
			}
			cancel()
			if err == nil {
				p.at = page.End
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			p.sync()
		}
	})
}
