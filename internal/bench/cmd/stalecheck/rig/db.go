package rig

import (
	"context"
	"database/sql"
	"net"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/redistest"
)

// startDB starts the database that holds the source and the log, and Redis for the cells. Proxies
// lead to PostgreSQL. A SQLite file cannot have a proxy.
func (r *Rig) startDB() {
	r.primary = redistest.Start(r.t, debugCommand()...)
	var seen *sql.DB
	if r.cfg.DB == worker.SQLite {
		f, err := dbtest.OpenSQLite(filepath.Join(r.t.TempDir(), "source.db"))
		r.check(err)
		r.t.Cleanup(func() { _ = f.Close() })
		r.file, seen = f, f.Reader
	} else {
		pg, err := dbtest.StartPostgres("")
		r.check(err)
		r.t.Cleanup(func() { _ = pg.Close() })
		r.pg = pg
		for range r.cfg.Workers {
			r.proxies = append(r.proxies, redistest.NewProxy(r.t, r.pgAddr()))
		}
		seen, err = pg.Open("")
		r.check(err)
	}
	r.check(r.db(-1).Install(r.t.Context(), r.cfg.Keys))
	r.observer = observe(r.t.Context(), seen)
	r.t.Cleanup(r.observer.close)
	r.check(r.observer.look(r.t.Context()))
}

// DB returns how worker i reaches the database, or the zero DB if there is none.
func (r *Rig) DB(i int) worker.DB {
	if r.cfg.DB == "" {
		return worker.DB{}
	}
	return r.db(i)
}

// db is DB; with -1 it bypasses the proxies.
func (r *Rig) db(i int) worker.DB {
	d := worker.DB{Kind: r.cfg.DB, Cells: r.cfg.DBCells}
	if r.file != nil {
		d.At = r.file.Path
		return d
	}
	d.At = r.pg.DSN("")
	if i >= 0 {
		u, err := url.Parse(d.At)
		r.check(err)
		u.Host = r.proxies[i].Addr()
		d.At = u.String()
	}
	return d
}

func (r *Rig) pgAddr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.pg.Port())) }

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

// exec runs a statement in the database.
func (r *Rig) exec(query string) {
	if r.file == nil {
		r.check(r.pg.Exec(r.t.Context(), "", query))
		return
	}
	_, err := r.file.Writer.ExecContext(r.t.Context(), query)
	r.check(err)
}
