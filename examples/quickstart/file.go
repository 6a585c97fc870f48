package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// fromFile reads every package through tiers that keep their values, and the log that
// says which of them still hold, in one SQLite file. It prints where the packages came
// from: the first time from the source, later from the file.
func fromFile(ctx context.Context, x *index, file string, out io.Writer) (err error) {
	dsn := "file:" + (&url.URL{Path: file}).EscapedPath()
	db, err := sql.Open("sqlite", dsn+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	log := sqllog.New(db, sqllog.Config{Dialect: sqllog.SQLite})
	remote := sqltier.New(db, sqltier.Config{Dialect: sqltier.SQLite})
	if err := errors.Join(log.Install(ctx), remote.Install(ctx)); err != nil {
		return err
	}
	tiers, err := cache.Open(cache.TiersConfig{
		Remote: remote, Log: log,
		Policies: policy.Table{{Patch: policy.Patch{RemoteTimeout: new(10 * time.Second)}}}, // as in the story
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tiers.Close(context.WithoutCancel(ctx))) }()
	c, err := cache.New(tiers, cache.Config[string, Package]{
		Namespace: namespace,
		Policy:    policy.Patch{TTL: new(policy.Forever)},
		// The key has the folder, since another installation has other packages.
		Load: func(ctx context.Context, dir string) (Package, error) {
			return x.load(ctx, strings.TrimPrefix(dir, x.src+"/"))
		},
	})
	if err != nil {
		return err
	}
	if err := tiers.Ready(ctx); err != nil { // before that nothing in the file can be trusted
		return err
	}
	start := time.Now()
	for _, path := range x.paths {
		if _, err := c.Get(ctx, x.src+"/"+path); err != nil {
			return err
		}
	}
	took, loads := time.Since(start), x.loads.Load()
	if loads == 0 {
		fmt.Fprintf(out, "%d packages from %s in %v: no load was needed.\n", len(x.paths), filepath.Base(file), round(took))
	} else {
		fmt.Fprintf(out, "%d packages in %v: %d were parsed, and are now in %s. Start again.\n", len(x.paths), round(took), loads, filepath.Base(file))
	}
	return nil
}
