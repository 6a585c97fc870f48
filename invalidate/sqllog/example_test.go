package sqllog_test //nolint:testableexamples // the one here needs a database

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
func Example() {
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
