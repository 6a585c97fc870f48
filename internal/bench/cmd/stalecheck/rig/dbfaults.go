package rig

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

func steps(_ context.Context, r *Rig) string {
	r.losses++
	return r.killAt(worker.Steps[r.losses%len(worker.Steps)])
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
	if !r.until(func() bool { return r.workers[i].Ended() }) {
		return fmt.Sprintf("crash of worker %d, which never was at %s", i, step)
	}
	return fmt.Sprintf("crash of worker %d at %s", i, step)
}

// until waits for a condition, at most a second.
func (r *Rig) until(there func() bool) bool {
	for range 200 {
		if there() {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

func freeze(ctx context.Context, r *Rig) string {
	i, step := r.any(), worker.Steps[r.losses%len(worker.Steps)]
	r.losses++
	r.at(i, step, worker.Stop)
	came := r.until(func() bool { return r.workers[i].Paused() })
	if came {
		r.sleep(ctx, r.between(r.cfg.Bound/2, 3*r.cfg.Bound))
	} else { // otherwise it must not stop later
		r.at(i, "nowhere", worker.Stop)
		r.sleep(r.t.Context(), settle)
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
	if r.losses%2 == 1 {
		end, what = r.pg.Stop, "immediate stop of PostgreSQL"
	}
	r.losses++
	setup.Check(end())
	r.sleep(ctx, r.between(0, r.cfg.Bound))
	setup.Check(r.pg.Start())
	return what
}

// newAfterTrim kills a worker at a step, and all others except one. The new processes find no
// record of the keys that were numbered before, and trust the cells. The remaining worker is paused
// for a while: it knows the records, and would replace the stale cells.
func newAfterTrim(ctx context.Context, r *Rig) string {
	step := []string{worker.Numbered, worker.Numbered, worker.Staged, worker.Numbered, worker.Removed}[r.losses%5]
	r.losses++
	i, others := r.split()
	what := r.awaitAt(i, step)
	r.replace(append(others[1:], i), func() {
		r.exec(`INSERT INTO twofold_outbox (scopes) VALUES ('[["k","default:n:other"]]')`)
		time.Sleep(3 * sqllog.DefaultPoll / 2) // the remaining worker numbers it
		r.hold(others[:1])
		r.exec("DELETE FROM twofold_log WHERE seq = 1 AND pos < (SELECT max(pos) FROM twofold_log WHERE seq = 1)")
	})
	r.sleep(ctx, 2*r.cfg.Bound)
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
	return r.oldFile()
}

func oldCopy(r *Rig) loss {
	l := loss{what: "PostgreSQL put back to an old copy"}
	var put func() error
	l.fork = func() {
		c := setup.Must(r.pg.CopyData())
		put = func() error { return r.pg.RestoreData(c) }
	}
	l.swap = func() {
		r.unseen(func() { setup.Check(put()) })
	}
	return l
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
