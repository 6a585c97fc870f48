package triggers_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

// A table says what its rows stand for. The text is that of a migration.
func ExampleSQL() {
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tiers.Close(context.Background())
	users, err := cache.New(tiers, cache.For("users:v1", func(context.Context, int) (string, error) { return "Ada", nil }))
	if err != nil {
		fmt.Println(err)
		return
	}

	table := triggers.Table{Name: "users", Rows: []triggers.Row{
		{Key: users.Namespace(), Column: "id"},
		{Tag: "org:", Column: "org_id"},
	}}
	up, down, err := triggers.SQL(sqllog.Config{Dialect: sqllog.SQLite}, table)
	if errors.Is(err, triggers.ErrTable) {
		fmt.Println(err) // the Table contradicts itself
		return
	}
	fmt.Println(strings.Count(up, "CREATE TRIGGER"), "triggers")
	fmt.Println(strings.Split(down, "\n")[0])
	// Output:
	// 5 triggers
	// DROP TRIGGER IF EXISTS "twofold_changed_users_insert";
}

// A program refuses to start when its database lacks the triggers, and then looks each minute. A small tool
// makes them itself.
func ExampleCheck() { //nolint:testableexamples // it needs a database
	start := func(ctx context.Context, db *sql.DB, migrate bool, tables []triggers.Table, users triggers.Cache) error {
		cfg := sqllog.Config{Dialect: sqllog.Postgres}
		err := triggers.Check(ctx, db, cfg, tables, users)
		if errors.Is(err, triggers.ErrNotInstalled) && migrate {
			err = triggers.Install(ctx, db, cfg, tables...)
		}
		if err == nil {
			go triggers.Watch(ctx, triggers.DefaultInterval, db, cfg, tables, users)
		}
		return err
	}
	_ = start
}
