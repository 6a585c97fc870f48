package rig

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

// tables are all tables of a run, the source first.
var tables = []string{"source", "twofold_outbox", "twofold_log", "twofold_meta"}

// oldTables restores a dump into the running server. Every second time the dump is restored beside
// the database, and then takes its name.
func oldTables(r *Rig) loss {
	what, restore := "a dump restored into the running server", r.restoreInPlace
	if r.losses%2 == 1 {
		what, restore = "a dump restored beside, and renamed", r.restoreBeside
	}
	return loss{what: what, fork: func() { r.dump(false) }, swap: func() { r.unseen(restore) }}
}

func (r *Rig) restoreInPlace() {
	drop := "DROP DATABASE " + database
	if r.pg != nil {
		drop += " WITH (FORCE)" // the observer is connected
	}
	r.admin(drop, "CREATE DATABASE "+database)
	r.load(database)
}

// restoreBeside makes another database, and gives it the name. MariaDB renames tables only.
func (r *Rig) restoreBeside() {
	lost, beside := fmt.Sprint("lost", r.losses), fmt.Sprint("beside", r.losses)
	r.admin("CREATE DATABASE " + beside)
	r.load(beside)
	if r.pg != nil {
		r.admin("ALTER DATABASE " + database + " ALLOW_CONNECTIONS false")
		redistest.Eventually(r.t, "the database cannot be renamed", func(context.Context) error {
			return setup.Try(func() {
				r.admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+database+"'",
					"ALTER DATABASE "+database+" RENAME TO "+lost)
			})
		})
		r.admin("ALTER DATABASE " + beside + " RENAME TO " + database)
		return
	}
	var moves []string
	for _, t := range tables {
		moves = append(moves, fmt.Sprintf("%s.%s TO %s.%s, %s.%s TO %s.%s", database, t, lost, t, beside, t, database, t))
	}
	r.admin("CREATE DATABASE "+lost, "RENAME TABLE "+strings.Join(moves, ", "))
}

// oldRows puts older rows back into the same tables. On a server a dump of the data is loaded, after
// TRUNCATE and after DELETE in turn.
func oldRows(r *Rig) loss {
	if r.file != nil {
		return oldFileRows(r)
	}
	empty := []string{"TRUNCATE ", "DELETE FROM "}[r.losses%2]
	return loss{what: "old rows put back, after " + strings.TrimSpace(empty), fork: func() { r.dump(true) }, swap: func() {
		r.unseen(func() {
			for _, t := range tables {
				r.exec(empty + t)
			}
			r.load(database)
		})
	}}
}

// emptied empties the tables of the log, or only its records. Rows without a number stay.
func emptied(r *Rig) loss {
	gone := tables[2:]
	if r.losses%2 == 1 {
		gone = gone[:1]
	}
	empty := "TRUNCATE "
	if r.file != nil {
		empty = "DELETE FROM "
	}
	return loss{what: "empty tables: " + strings.Join(gone, ", "), fork: func() {}, swap: func() {
		for _, t := range gone {
			r.exec(empty + t)
		}
	}}
}

// dumpFile is a file in the server's folder.
const dumpFile = "dump.sql"

// dump writes a text dump of the database, or of its data alone.
func (r *Rig) dump(dataOnly bool) {
	if r.pg != nil {
		args := []string{"--file=" + dumpFile, r.pg.DSN(database)}
		if dataOnly {
			args = append(args, "--data-only")
		}
		setup.Check(r.pg.Run("pg_dump", args...))
		return
	}
	args := []string{"--single-transaction", "--result-file=" + dumpFile, database}
	if dataOnly {
		args = append(args, "--no-create-info")
	}
	setup.Check(r.my.Run("mariadb-dump", args...))
}

// load runs the dump in a database.
func (r *Rig) load(into string) {
	if r.pg != nil {
		setup.Check(r.pg.Run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "--file="+dumpFile, r.pg.DSN(into)))
		return
	}
	setup.Check(r.my.Run("mariadb", into, "--execute=source "+dumpFile))
}

// oldFile restores the SQLite file to an older state by SQLite's backup API, while other processes
// have it open. They are paused meanwhile, at any point of their work.
func oldFile(r *Rig) loss {
	saved, fork := r.copyFile()
	return loss{what: "SQLite put back to an old copy", fork: fork, swap: func() {
		r.paused(func() {
			r.backup(func(c copier) (*sqlite.Backup, error) { return c.NewRestore("file:" + saved) })
		})
	}}
}

// copyFile returns a path, and a function that copies the SQLite file to it.
func (r *Rig) copyFile() (to string, copied func()) {
	to = filepath.Join(r.t.TempDir(), "copy.db")
	return to, func() {
		r.backup(func(c copier) (*sqlite.Backup, error) { return c.NewBackup("file:" + to) })
	}
}

// paused changes the file while no worker runs, and until the observer has seen the result.
func (r *Rig) paused(change func()) {
	var running []int
	for i := range r.cfg.Workers {
		if !r.gone[i] && !r.workers[i].Ended() {
			running = append(running, i)
		}
	}
	r.hold(running)
	change()
	setup.Check(r.observer.look(r.t.Context()))
	for _, i := range running {
		r.workers[i].Resume()
	}
}

// oldFileRows puts older rows back by SQL, from a copy of the file.
func oldFileRows(r *Rig) loss {
	saved, fork := r.copyFile()
	return loss{what: "old rows put back by SQL", fork: fork, swap: func() {
		r.paused(func() {
			// A pool may use another connection for the next statement, but Writer has only one.
			r.exec("ATTACH '"+saved+"' AS saved", "BEGIN IMMEDIATE")
			for _, t := range tables {
				r.exec("DELETE FROM main."+t, "INSERT INTO main."+t+" SELECT * FROM saved."+t)
			}
			r.exec("COMMIT", "DETACH saved")
		})
	}}
}

// copier is implemented by the driver's connections.
type copier interface {
	NewBackup(to string) (*sqlite.Backup, error)
	NewRestore(from string) (*sqlite.Backup, error)
}

// backup copies all pages from one file to another, as of one moment.
func (r *Rig) backup(begin func(copier) (*sqlite.Backup, error)) {
	conn := setup.Must(r.file.Writer.Conn(r.t.Context()))
	defer func() { _ = conn.Close() }()
	setup.Check(conn.Raw(func(c any) error {
		b, err := begin(c.(copier))
		if err != nil {
			return err
		}
		if _, err := b.Step(-1); err != nil {
			_ = b.Finish()
			return err
		}
		return b.Finish()
	}))
}

// hold pauses workers while none of them holds the write lock of a SQLite file.
func (r *Rig) hold(workers []int) {
	for range 100 {
		for _, i := range workers {
			r.workers[i].Pause()
		}
		if r.file == nil || r.free() {
			return
		}
		for _, i := range workers {
			r.workers[i].Resume()
		}
		time.Sleep(3 * time.Millisecond)
	}
	r.t.Fatal("rig: the lock of the SQLite file is never free")
}

// free reports whether no worker holds the lock.
func (r *Rig) free() bool {
	ctx, cancel := context.WithTimeout(r.t.Context(), 100*time.Millisecond)
	defer cancel()
	tx, err := r.file.Writer.BeginTx(ctx, &sql.TxOptions{}) // immediate, because of its DSN
	if err != nil {
		return false
	}
	return tx.Rollback() == nil
}
