package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

func steps(_ context.Context, r *Rig) string {
	return r.killAt(worker.Steps[r.turn()%len(worker.Steps)])
}

func committed(_ context.Context, r *Rig) string { return r.killAt(worker.Committed) }

// killAt kills some worker at a step, and starts another in its place.
func (r *Rig) killAt(step string) string {
	i := r.any()
	what := r.awaitAt(i, step)
	r.replace([]int{i}, func() {})
	return what
}

// awaitAt makes worker i end at a step, and waits until it has.
func (r *Rig) awaitAt(i int, step string) string {
	r.at(i, step, worker.Kill)
	if !r.until(r.workers[i].Ended) {
		return fmt.Sprintf("crash of worker %d, which never was at %s", i, step)
	}
	return fmt.Sprintf("crash of worker %d at %s", i, step)
}

func freeze(ctx context.Context, r *Rig) string {
	i, step := r.any(), worker.Steps[r.turn()%len(worker.Steps)]
	came := r.stoppedAt(i, step)
	if came {
		proc.Sleep(ctx, r.between(r.cfg.Bound/2, 3*r.cfg.Bound))
	}
	r.workers[i].Resume()
	return fmt.Sprintf("worker %d frozen at %s: %v", i, step, came)
}

func unanswered(_ context.Context, r *Rig) string {
	i := r.any()
	r.at(i, worker.Written, worker.Cut)
	return fmt.Sprintf("COMMIT of worker %d without an answer", i)
}

// dbKill ends the database, alternately by SIGKILL and by an immediate stop.
func dbKill(ctx context.Context, r *Rig) string {
	end, what := r.pg.Kill, "kill of PostgreSQL"
	if r.turn()%2 == 1 {
		end, what = r.pg.Stop, "immediate stop of PostgreSQL"
	}
	setup.Check(end())
	proc.Sleep(ctx, r.between(0, r.cfg.Bound))
	setup.Check(r.pg.Start())
	return what
}

// newAfterTrim kills a worker at a step, and all others except one. The new processes find no
// record of the keys that were numbered before, and trust the cells. The remaining worker is paused
// for a while: it knows the records, and would replace the stale cells.
func newAfterTrim(ctx context.Context, r *Rig) string {
	step := []string{worker.Numbered, worker.Numbered, worker.Staged, worker.Numbered, worker.Removed}[r.turn()%5]
	i, others := r.split()
	what := r.awaitAt(i, step)
	r.replace(append(others[1:], i), func() {
		r.exec(`INSERT INTO twofold_outbox (scopes) VALUES ('[["k","default:n:other"]]')`)
		time.Sleep(3 * sqllog.DefaultPoll / 2) // the remaining worker numbers it
		r.hold(others[:1])
		r.exec("DELETE FROM twofold_log WHERE seq = 1 AND pos < (SELECT max(pos) FROM twofold_log WHERE seq = 1)")
	})
	proc.Sleep(ctx, 2*r.cfg.Bound)
	r.workers[others[0]].Resume()
	return what + ", and a trim of the log's keys"
}

// dbCopy restores the database to an older state: an old data folder under a server that starts
// again, or SQLite's .restore while the processes have the file open.
func dbCopy(r *Rig) loss {
	switch {
	case r.pg != nil:
		return oldCopy(r)
	case r.my != nil:
		return oldFolder(r)
	}
	return oldFile(r)
}

func oldCopy(r *Rig) loss {
	var saved dbtest.Copy
	return loss{what: "PostgreSQL put back to an old copy", fork: func() {
		saved = setup.Must(r.pg.CopyData())
	}, swap: func() {
		r.unseen(func() { setup.Check(r.pg.RestoreData(saved)) })
	}}
}

// standby promotes a lagging server. The primary is stopped first, as a failover manager does.
func standby(r *Rig) loss {
	b := setup.Must(r.pg.Standby(0))
	return loss{what: "promotion of a standby that lags", fork: func() {
		setup.Check(b.Cut(r.t.Context()))
	}, swap: func() {
		r.unseen(func() {
			setup.Check(r.pg.Stop())
			setup.Check(b.Promote(r.t.Context()))
			r.pg, r.sql = b, b
			for _, p := range r.proxies {
				p.Retarget(r.dbAddr())
			}
			r.observer.turn(setup.Must(r.sql.Open(database)))
		})
	}}
}

// unseen keeps all workers from the database during a restore and until the observer has seen the
// result. Otherwise a restored version could be gone before a sample shows it.
func (r *Rig) unseen(swap func()) {
	for _, p := range r.proxies {
		p.Drop()
	}
	swap()
	setup.Check(r.observer.look(r.t.Context()))
	for i, p := range r.proxies {
		if p.Pass(); r.gone[i] {
			p.BlackHole()
		}
	}
}

// oldFolder puts an old data folder back under MariaDB. Every second time the server starts again
// within two seconds of its last start: its start is part of the log's identity, to two seconds.
func oldFolder(r *Rig) loss {
	saved := filepath.Join(r.t.TempDir(), "data")
	soon := r.losses%2 == 0
	l := loss{what: "MariaDB put back to an old data folder", brief: soon}
	l.fork = func() {
		if soon {
			r.my.Kill()
			setup.Check(r.my.Start())
			time.Sleep(max(r.cfg.Bound/2, short)) // until a worker has noticed
		}
		setup.Check(r.my.Freeze())
		setup.Check(exec.Command("cp", "-a", r.data, saved).Run()) // with its owners
		setup.Check(r.my.Continue())
	}
	l.swap = func() {
		r.unseen(func() {
			r.my.Kill()
			setup.Check(os.RemoveAll(r.data))
			setup.Check(exec.Command("cp", "-a", saved, r.data).Run())
			setup.Check(r.my.Start())
		})
	}
	return l
}
