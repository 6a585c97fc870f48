package sqllog_test

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// A rename that no cache can miss: its row and its invalidation commit together. The page that
// answers the rename shows the new name, in this process.
func Example() { //nolint:testableexamples // it needs a database
	serve := func(db *sql.DB, users *cache.Cache[int, string]) error {
		log := sqllog.New(db, sqllog.Config{Dialect: sqllog.Postgres, Bound: time.Second})
		tiers, err := cache.Open(cache.TiersConfig{Log: log})
		if err != nil {
			return err
		}
		http.HandleFunc("POST /rename", func(w http.ResponseWriter, r *http.Request) {
			if err := rename(r.Context(), log, db, r.FormValue("name")); err != nil {
				http.Error(w, "not renamed", http.StatusInternalServerError)
				return
			}
			_ = tiers.Ready(r.Context()) // optional: applied here
			name, _ := users.Get(r.Context(), 7)
			_, _ = w.Write([]byte(name))
		})
		return nil
	}
	_ = serve
}

func rename(ctx context.Context, log *sqllog.Log, db *sql.DB, name string) error {
	return log.Tx(ctx, db, nil, func(tx *sqllog.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE users SET name = $1 WHERE id = 7`, name)
		tx.Invalidate(invalidate.Tag("default", "user:7"))
		return err
	})
}

// A loader reads from a replica when the replica has reached everything that this process knows of.
func ExampleLog_Replica() { //nolint:testableexamples // it needs a database
	var primary, replica *sql.DB // the pools of the program
	log := sqllog.New(primary, sqllog.Config{Dialect: sqllog.Postgres})

	_ = func(ctx context.Context, id int64) (name string, err error) {
		from := primary
		if reached, err := log.Replica(ctx, replica); err == nil && reached {
			from = replica
		}
		err = from.QueryRowContext(ctx, "SELECT name FROM users WHERE id = $1", id).Scan(&name)
		return name, err
	}
}
