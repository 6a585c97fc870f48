package rig

import (
	"context"
	"database/sql"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

// oldFile restores the SQLite file to an older state by SQLite's backup API, while other processes
// have it open. They are paused meanwhile, at any point of their work.
func (r *Rig) oldFile() loss {
	r.saved = filepath.Join(r.t.TempDir(), "copy.db")
	return loss{what: "SQLite put back to an old copy", fork: func() {
		r.backup(func(c copier) (*sqlite.Backup, error) { return c.NewBackup("file:" + r.saved) })
	}, swap: func() {
		r.paused(func() {
			r.backup(func(c copier) (*sqlite.Backup, error) { return c.NewRestore("file:" + r.saved) })
		})
	}}
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
func (r *Rig) oldFileRows() loss {
	l := r.oldFile()
	return loss{what: "old rows put back by SQL", fork: l.fork, swap: func() {
		r.paused(func() {
			// A pool may use another connection for the next statement, but Writer has only one.
			r.exec("ATTACH '"+r.saved+"' AS saved", "BEGIN IMMEDIATE")
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
