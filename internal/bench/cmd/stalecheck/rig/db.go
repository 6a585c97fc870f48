package rig

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/redistest"
)

// database is the name of the database in its server. It can be dropped, unlike the default one.
const database = "stalecheck"

// startDB starts the database that holds the source and the log, and Redis for the cells. Proxies
// lead to a server. A SQLite file cannot have a proxy.
func (r *Rig) startDB() {
	r.primary = redistest.Start(r.t, debugCommand()...)
	seen := r.startServer()
	if r.file == nil {
		for range r.cfg.Workers {
			r.proxies = append(r.proxies, redistest.NewProxy(r.t, r.dbAddr()))
		}
	}
	r.check(r.db(-1).Install(r.t.Context(), r.cfg.Keys))
	r.observer = observe(r.t.Context(), seen)
	r.t.Cleanup(r.observer.close)
	r.check(r.observer.look(r.t.Context()))
}

// startServer starts the database, and returns a pool of its own for the observer.
func (r *Rig) startServer() (seen *sql.DB) {
	var err error
	switch r.cfg.DB {
	case worker.SQLite:
		r.file, err = dbtest.OpenSQLite(filepath.Join(r.t.TempDir(), "source.db"))
		r.check(err)
		r.t.Cleanup(func() { _ = r.file.Close() })
		return r.file.Reader
	case worker.MariaDB:
		r.my, err = dbtest.StartMariaDB("")
		r.check(err)
		r.t.Cleanup(func() { _ = r.my.Close() })
		db, err := r.my.Open("")
		r.check(err)
		r.check(errors.Join(db.QueryRowContext(r.t.Context(), "SELECT @@datadir").Scan(&r.data), db.Close()))
		r.data = filepath.Clean(r.data)
	default:
		pg, err := dbtest.StartPostgres("")
		r.check(err)
		r.t.Cleanup(func() { _ = pg.Close() }) // with its standbys
		r.pg = pg
	}
	r.admin("CREATE DATABASE " + database)
	seen, err = r.open()
	r.check(err)
	return seen
}

// open returns a pool of the database that bypasses the proxies.
func (r *Rig) open() (*sql.DB, error) {
	if r.my != nil {
		return r.my.Open(database)
	}
	return r.pg.Open(database)
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
	d := worker.DB{Kind: r.cfg.DB, Cells: r.cfg.DBCells, Triggers: r.cfg.Triggers}
	if r.file != nil {
		d.At = r.file.Path
		return d
	}
	if r.my != nil {
		d.At = r.my.DSN(database)
		if i >= 0 {
			d.At = strings.Replace(d.At, r.dbAddr(), r.proxies[i].Addr(), 1)
		}
		return d
	}
	d.At = r.pg.DSN(database)
	if i >= 0 {
		u, err := url.Parse(d.At)
		r.check(err)
		u.Host = r.proxies[i].Addr()
		d.At = u.String()
	}
	return d
}

// dbAddr returns the address of the database's server.
func (r *Rig) dbAddr() string {
	if r.my != nil {
		_, rest, _ := strings.Cut(r.my.DSN(""), "tcp(")
		addr, _, _ := strings.Cut(rest, ")")
		return addr
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.pg.Port()))
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
		var err error
		switch {
		case r.pg != nil:
			err = r.pg.Exec(r.t.Context(), database, query)
		case r.my != nil:
			err = r.my.Exec(r.t.Context(), database, query)
		default:
			_, err = r.file.Writer.ExecContext(r.t.Context(), query)
		}
		r.check(err)
	}
}

// admin runs statements in the server, outside of the database.
func (r *Rig) admin(queries ...string) {
	for _, query := range queries {
		if r.my != nil {
			r.check(r.my.Exec(r.t.Context(), "", query))
		} else {
			r.check(r.pg.Exec(r.t.Context(), "", query))
		}
	}
}

// number returns the number that a query selects.
func (r *Rig) number(query string) (n int64) {
	db, err := r.writer()
	r.check(err)
	r.check(db.QueryRowContext(r.t.Context(), query).Scan(&n))
	return n
}

// writer returns a pool that can write and that bypasses the proxies.
func (r *Rig) writer() (*sql.DB, error) {
	if r.file != nil {
		return r.file.Writer, nil
	}
	if r.direct == nil {
		db, err := r.open()
		if err != nil {
			return nil, err
		}
		r.direct = db
		r.t.Cleanup(func() { _ = db.Close() })
	}
	return r.direct, nil
}
