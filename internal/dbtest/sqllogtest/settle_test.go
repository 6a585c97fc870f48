package sqllogtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

// After a commit, and after a statement that runs a trigger, Settle takes one bound. Then the other
// process reads the new row.
func TestSettleAfterCommitAndTrigger(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		const bound = 2 * time.Second
		r.exec(t, "CREATE TABLE users (id int PRIMARY KEY, version int)")
		r.exec(t, "INSERT INTO users VALUES (1, 1)")
		r.installed(t, triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}})
		r.exec(t, "CREATE TABLE plain (id int PRIMARY KEY, version int)")
		r.exec(t, "INSERT INTO plain VALUES (1, 1)")
		open := func(query, space string) (*sqllog.Log, *cache.Tiers, cache.Cache[int, int]) {
			log := r.open(sqllog.Config{Bound: bound})
			tiers, err := cache.Open(cache.TiersConfig{Log: log})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tiers.Close(context.Background()) })
			rows, err := cache.New(tiers, cache.Config[int, int]{Namespace: space, Load: func(ctx context.Context, id int) (version int, err error) {
				return version, r.db.QueryRowContext(ctx, query).Scan(&version)
			}})
			if err != nil {
				t.Fatal(err)
			}
			return log, tiers, rows
		}
		for _, c := range []struct{ table, how string }{{"plain", "commit"}, {"users", "trigger"}} {
			query := "SELECT version FROM " + c.table + " WHERE id = 1"
			log, tiers, rows := open(query, c.table+":v1")
			_, _, others := open(query, c.table+":v1")
			if v, err := others.Get(t.Context(), 1); v != 1 || err != nil {
				t.Fatalf("version %d, %v", v, err)
			}
			update := "UPDATE " + c.table + " SET version = 2 WHERE id = 1"
			var err error
			if c.how == "trigger" {
				_, err = r.db.ExecContext(t.Context(), update)
			} else {
				err = log.Tx(t.Context(), r.db, nil, func(tx *sqllog.Tx) error {
					tx.Invalidate(rows.Key(1))
					_, err := tx.ExecContext(t.Context(), update)
					return err
				})
			}
			begun := time.Now()
			if err == nil {
				err = tiers.Settle(t.Context())
			}
			if took := time.Since(begun); err != nil || took < bound {
				t.Errorf("Settle after a %s: %v after %v, want nil after %v", c.how, err, took, bound)
			}
			if v, err := others.Get(t.Context(), 1); v != 2 || err != nil {
				t.Errorf("after a %s and Settle the other process reads version %d, %v", c.how, v, err)
			}
		}
	})
}
