package rig

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

// database is the name of the database in its server. It can be dropped, unlike the default one.
const database = "stalecheck"

// sqlServer is a database's server. The name "" is that of its default database.
type sqlServer interface {
	DSN(database string) string
	Open(database string) (*sql.DB, error)
	Exec(ctx context.Context, database, query string, args ...any) error
}

// startDB starts the database that holds the source and the log, and Redis for the cells. Proxies
// lead to a server. A SQLite file cannot have a proxy.
func (r *Rig) startDB() {
	r.primary = redistest.Start(r.t, debugCommand()...)
	r.startServer()
	var at string
	var seen *sql.DB
	if r.file != nil {
		at, seen = r.file.Path, r.file.Reader
	} else {
		r.admin("CREATE DATABASE " + database)
		at, seen = r.sql.DSN(database), setup.Must(r.sql.Open(database))
		for range r.cfg.Workers {
			r.proxies = append(r.proxies, redistest.NewProxy(r.t, r.dbAddr()))
		}
	}
	worker.Install(r.t.Context(), &r.cfg.Run, at)
	r.observer = observe(r.t.Context(), seen)
	r.t.Cleanup(r.observer.close)
	setup.Check(r.observer.look(r.t.Context()))
}

func (r *Rig) startServer() {
	switch r.cfg.DB {
	case worker.SQLite:
		r.file = setup.Must(dbtest.OpenSQLite(filepath.Join(r.t.TempDir(), "source.db")))
		r.t.Closing(r.file.Close)
	case worker.MariaDB:
		r.my = setup.Must(dbtest.StartMariaDB(""))
		r.sql = r.my
		r.t.Closing(r.my.Close)
		db := setup.Must(r.my.Open(""))
		setup.Check(errors.Join(db.QueryRowContext(r.t.Context(), "SELECT @@datadir").Scan(&r.data), db.Close()))
		r.data = filepath.Clean(r.data)
	default:
		pg := setup.Must(dbtest.StartPostgres(""))
		r.pg, r.sql = pg, pg
		r.t.Closing(pg.Close) // with its standbys
	}
}

// databaseOf returns how worker i reaches the database, or "" if there is none.
func (r *Rig) databaseOf(i int) string {
	switch {
	case r.file != nil:
		return r.file.Path
	case r.sql != nil:
		return strings.Replace(r.sql.DSN(database), r.dbAddr(), r.proxies[i].Addr(), 1)
	}
	return ""
}

// dbAddr returns the address of the database's server.
func (r *Rig) dbAddr() string {
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(r.sql.DSN(""))
}

// Course returns the history of the source, with one more sample at the end. It returns nil for a
// run without a database.
func (r *Rig) Course(ctx context.Context) (*history.Course, error) {
	if r.observer == nil {
		return nil, nil
	}
	if err := r.observer.look(ctx); err != nil {
		return nil, err
	}
	r.observer.close()
	return r.observer.course, nil
}

// exec runs statements in the database, one by one.
func (r *Rig) exec(queries ...string) {
	for _, query := range queries {
		if r.file != nil {
			setup.Must(r.file.Writer.ExecContext(r.t.Context(), query))
		} else {
			setup.Check(r.sql.Exec(r.t.Context(), database, query))
		}
	}
}

// admin runs statements in the server, outside of the database.
func (r *Rig) admin(queries ...string) {
	for _, query := range queries {
		setup.Check(r.sql.Exec(r.t.Context(), "", query))
	}
}

// direct calls f with a pool that can write and that bypasses the proxies.
func (r *Rig) direct(f func(*sql.DB)) {
	if r.file != nil {
		f(r.file.Writer)
		return
	}
	db := setup.Must(r.sql.Open(database))
	defer func() { _ = db.Close() }() // its work is done
	f(db)
}

// number returns the number that a query selects.
func (r *Rig) number(query string) (n int64) {
	r.direct(func(db *sql.DB) { setup.Check(db.QueryRowContext(r.t.Context(), query).Scan(&n)) })
	return n
}

// observer reads the whole source repeatedly. While the source does not answer, there is no sample.
type observer struct {
	wg   sync.WaitGroup
	stop context.CancelFunc

	mu     sync.Mutex // protects all below; held during a sample
	db     *sql.DB
	course *history.Course
}

// often is the pause between two samples.
const often = 5 * time.Millisecond

// observe begins to sample the source behind db.
func observe(ctx context.Context, db *sql.DB) *observer {
	o := &observer{db: db, course: history.NewCourse()}
	ctx, o.stop = context.WithCancel(ctx)
	o.wg.Go(func() {
		for proc.Sleep(ctx, often) {
			_ = o.sample(ctx) // the next sample comes soon
		}
	})
	return o
}

// sample adds a sample to the course.
func (o *observer) sample(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	start := proc.Now()
	rows, err := o.db.QueryContext(ctx, "SELECT version FROM source ORDER BY id")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var versions []int64
	for rows.Next() {
		var v int64
		if err := rows.Scan(&v); err != nil {
			return err
		}
		versions = append(versions, v)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	o.course.Sample(start, proc.Now(), versions)
	return nil
}

// look adds a sample as soon as the source answers.
func (o *observer) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := o.sample(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(often)
	}
}

// turn switches the observer to another server.
func (o *observer) turn(db *sql.DB) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.db.Close()
	o.db = db
}

func (o *observer) close() {
	o.stop()
	o.wg.Wait()
	_ = o.db.Close()
}
