package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// Hand is one process of a worker, perhaps one that has crashed.
type Hand struct {
	*proc.Child

	Number      int
	Killed      bool
	Report      worker.Report // unless it was killed
	Events, log string        // its files
}

// maxHands is how many processes a history can distinguish.
const maxHands = 256

// finishTime bounds the time that workers may take to begin, and for their last calls.
const finishTime = 30 * time.Second

// startWorker starts a new process as worker i.
func (r *Rig) startWorker(i int) {
	number := len(r.Hands)
	if number == maxHands {
		r.t.Fatal("too many workers have crashed")
	}
	file := func(what string) string { return filepath.Join(r.dir, fmt.Sprintf("%s-%d", what, number)) }
	h := &Hand{Number: number, Events: file("events"), log: file("log")}
	log := setup.Must(os.Create(h.log))
	defer func() { _ = log.Close() }() // the child has its own descriptor
	h.Child = proc.Again(worker.Env, worker.Config{
		Run: r.cfg.Run, Proc: number, Server: r.server(i), Source: r.sourceAddr(), At: r.databaseOf(i), Prefix: r.prefix,
		KeysOnly: r.fault.keysOnly, Events: h.Events,
	}, log, "TWOFOLD_SAFEGUARDS_OFF="+r.cfg.Without)
	r.t.Cleanup(h.Kill)
	r.workers[i], r.Hands = h, append(r.Hands, h)
}

// await waits until workers work.
func (r *Rig) await(workers []int) {
	for _, i := range workers {
		h := r.workers[i]
		setup.Check(r.within(h, func() error { return setup.Try(func() { h.Hear(new(string)) }) }))
	}
}

// within calls wait, which ends when a worker does, and kills the worker if that takes too long.
func (r *Rig) within(h *Hand, wait func() error) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), finishTime)
	defer cancel()
	defer context.AfterFunc(ctx, h.Kill)()
	err := wait()
	if err == nil {
		return nil
	}
	time.Sleep(100 * time.Millisecond) // for its last log lines
	log, _ := os.ReadFile(h.log)
	return fmt.Errorf("process %d: %w:\n%s", h.Number, errors.Join(err, ctx.Err()), log[max(0, len(log)-3000):])
}

// all returns the numbers of all workers.
func (r *Rig) all() []int {
	all := make([]int, r.cfg.Workers)
	for i := range all {
		all[i] = i
	}
	return all
}

// any draws a worker.
func (r *Rig) any() int { return r.rng.IntN(r.cfg.Workers) }

// turn returns how many faults there were before this one, for faults that vary in turn.
func (r *Rig) turn() int {
	r.losses++
	return r.losses - 1
}

// at makes a worker end in the given way when it reaches a step.
func (r *Rig) at(i int, step, end string) { r.workers[i].Tell(worker.Order{Step: step, End: end}) }

// stoppedAt stops a worker at a step, and reports whether it came there. Otherwise it will not stop
// later.
func (r *Rig) stoppedAt(i int, step string) bool {
	r.at(i, step, worker.Stop)
	came := r.until(r.workers[i].Paused)
	if !came {
		r.at(i, "nowhere", worker.Stop)
		proc.Sleep(r.t.Context(), settle)
	}
	return came
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

// replace kills workers, calls meanwhile, and starts new processes in their place.
func (r *Rig) replace(workers []int, meanwhile func()) {
	for _, i := range workers {
		r.workers[i].Killed = true
		r.workers[i].Kill()
	}
	meanwhile()
	for _, i := range workers {
		r.startWorker(i)
	}
	r.await(workers)
}

// Finish asks the workers to end, and waits for them.
func (r *Rig) Finish() error {
	for _, h := range r.workers {
		h.Finish()
	}
	var errs []error
	for _, h := range r.workers {
		errs = append(errs, r.within(h, func() error {
			return errors.Join(setup.Try(func() { h.Hear(&h.Report) }), h.Wait())
		}))
	}
	return errors.Join(errs...)
}
