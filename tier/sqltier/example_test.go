package sqltier_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// A command-line tool that keeps its cache in a file, so its second start is warm. The driver is
// modernc.org/sqlite.
func Example() { //nolint:testableexamples // it needs a driver
	db, err := sql.Open("sqlite", "file:cache.db?_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=busy_timeout(1000)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	remote := sqltier.New(db, sqltier.Config{Dialect: sqltier.SQLite})
	if err := remote.Install(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	tiers, err := cache.Open(cache.TiersConfig{Remote: remote})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tiers.Close(context.Background())
}
