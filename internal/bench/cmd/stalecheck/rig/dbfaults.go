package rig

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
)

// steps ends a worker at a step of a numbering or of a transaction, one after the other.
func steps(_ context.Context, r *Rig) string {
	what := r.killAt(worker.Steps[r.losses%len(worker.Steps)])
	r.losses++
	return what
}

// killAt ends some worker when it comes to a step, and puts another in its place.
func (r *Rig) killAt(step string) string {
	i := r.rng.IntN(r.crew.Len())
	return r.endAt(i, step, nil)
}

// endAt ends worker i when it comes to a step, calls meanwhile, and puts another in its place.
func (r *Rig) endAt(i int, step string, meanwhile func()) string {
	r.check(r.crew.At(i, step, worker.Kill))
	came := r.until(func() bool { return r.crew.Ended(i) })
	r.check(r.crew.Crash([]int{i}, meanwhile))
	if !came {
		return fmt.Sprintf("crash of worker %d, which never was at %s", i, step)
	}
	return fmt.Sprintf("crash of worker %d at %s", i, step)
}

// until waits for a worker to be somewhere, for a second at the most.
func (r *Rig) until(there func() bool) bool {
	for range 200 {
		if there() {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// freeze stops a worker at a step, for longer than the bound most times.
func freeze(ctx context.Context, r *Rig) string {
	i, step := r.rng.IntN(r.crew.Len()), worker.Steps[r.losses%len(worker.Steps)]
	r.losses++
	r.check(r.crew.At(i, step, worker.Stop))
	came := r.until(func() bool { return r.crew.Paused(i) })
	if came {
		r.sleep(ctx, r.between(r.cfg.Bound/2, 3*r.cfg.Bound))
	}
	r.check(r.crew.Resume(i))
	return fmt.Sprintf("worker %d frozen at %s: %v", i, step, came)
}

// unanswered loses the answer to a COMMIT, with the connection.
func unanswered(_ context.Context, r *Rig) string {
	i := r.rng.IntN(r.crew.Len())
	r.check(r.crew.At(i, worker.Written, worker.Cut))
	return fmt.Sprintf("COMMIT of worker %d without an answer", i)
}

// dbKill ends the database, in turn by SIGKILL and by an immediate stop.
func dbKill(ctx context.Context, r *Rig) string {
	end, what := r.pg.Kill, "kill of PostgreSQL"
	if r.losses%2 == 1 {
		end, what = r.pg.Stop, "immediate stop of PostgreSQL"
	}
	r.losses++
	r.check(end())
	r.sleep(ctx, r.between(0, r.cfg.Bound))
	r.check(r.pg.Start())
	return what
}

// newAfterTrim ends a worker at a step, and lets a new one begin that finds no record of
// what was numbered before.
func newAfterTrim(_ context.Context, r *Rig) string {
	step := worker.Steps[r.losses%3] // of a numbering
	r.losses++
	return r.endAt(r.rng.IntN(r.crew.Len()), step, func() {
		time.Sleep(r.cfg.Bound / 2) // until others have done what it left undone
		r.exec("DELETE FROM twofold_log WHERE pos < (SELECT max(l.pos) FROM twofold_log l WHERE l.seq = twofold_log.seq)")
	}) + ", and a trim of the log"
}

// oldCopy puts the database back as it was a while ago, in place.
func oldCopy(r *Rig) loss {
	if r.file != nil {
		return r.oldFile()
	}
	l := loss{what: "PostgreSQL put back to an old copy"}
	var put func() error
	l.fork = func() {
		c, err := r.pg.CopyData()
		r.check(err)
		put = func() error { return r.pg.RestoreData(c) }
	}
	l.swap = func() {
		r.unseen(func() { r.check(put()) })
	}
	return l
}

// standby promotes a server that lags. The primary is stopped before, as a manager of
// failovers does.
func standby(r *Rig) loss {
	b, err := r.pg.Standby(0)
	r.check(err)
	return loss{what: "promotion of a standby that lags", fork: func() {
		r.check(b.Cut(r.t.Context()))
	}, swap: func() {
		r.unseen(func() {
			r.check(r.pg.Stop())
			r.check(b.Promote(r.t.Context()))
			r.pg = b
			for _, p := range r.proxies {
				p.Retarget(r.pgAddr())
			}
			db, err := b.Open("")
			r.check(err)
			r.observer.turn(db)
		})
	}}
}

// unseen keeps all workers from the database while it is put back, and until the observer
// has seen it. Otherwise a version that is back could be gone before a sample shows it.
func (r *Rig) unseen(swap func()) {
	for _, p := range r.proxies {
		p.Drop()
	}
	swap()
	r.check(r.observer.look(r.t.Context()))
	for i, p := range r.proxies {
		if p.Pass(); r.gone[i] {
			p.BlackHole()
		}
	}
}
