package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/proc"
)

// crew are the workers of a run, including those that have crashed.
type crew struct {
	ctx   context.Context //nolint:containedctx // the run's context, which the crew does not outlive
	c     runConfig
	rig   *rig.Rig
	dir   string
	hands []*hand // by the number of the process
	now   []*hand // by the number of the worker
}

// hand is one process.
type hand struct {
	*proc.Child
	number int
	begun  <-chan bool
	killed bool
}

// maxHands is how many processes a history can distinguish.
const maxHands = 256

// finishTime bounds the time that workers may take to begin, and for their last calls.
const finishTime = 30 * time.Second

// hire starts the workers and waits until all of them work. The caller must kill the returned crew,
// even after an error.
func hire(ctx context.Context, c runConfig, r *rig.Rig, dir string) (*crew, error) {
	w := &crew{ctx: ctx, c: c, rig: r, dir: dir, now: make([]*hand, c.Workers)}
	for i := range w.now {
		if err := w.start(i); err != nil {
			return w, err
		}
	}
	for _, h := range w.now {
		if err := w.wait(h); err != nil {
			return w, err
		}
	}
	return w, nil
}

// start starts a new process as worker i.
func (w *crew) start(i int) error {
	number := len(w.hands)
	if number == maxHands {
		return errors.New("too many workers have crashed")
	}
	log, err := os.Create(w.file("log", number))
	if err != nil {
		return fmt.Errorf("worker %d: %w", i, err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	child := proc.Again(worker.Env, worker.Config{
		Run: w.c.Run, Proc: number, Server: w.rig.Server(i), Source: w.rig.Source(), At: w.rig.At(i), Prefix: w.rig.Prefix(),
		KeysOnly: w.rig.KeysOnly(), Events: w.file("events", number), Report: w.file("report", number),
	}, log, "TWOFOLD_SAFEGUARDS_OFF="+w.c.Without)
	begun := make(chan bool, 1) // false: it ended before
	go func() { begun <- child.Hear(new(string)) == nil }()
	w.now[i] = &hand{Child: child, number: number, begun: begun}
	w.hands = append(w.hands, w.now[i])
	return nil
}

// file returns the name of a file of a process.
func (w *crew) file(what string, number int) string {
	return filepath.Join(w.dir, fmt.Sprintf("%s-%d", what, number))
}

// wait waits until a process works.
func (w *crew) wait(h *hand) error {
	ctx, cancel := context.WithTimeout(w.ctx, finishTime)
	defer cancel()
	select {
	case ok := <-h.begun:
		if !ok {
			return w.complain(h, errors.New("it does not begin"))
		}
		return nil
	case <-ctx.Done():
		return w.complain(h, ctx.Err())
	}
}

// Len returns the number of workers.
func (w *crew) Len() int { return len(w.now) }

// Pause stops a worker until Resume.
func (w *crew) Pause(i int) error { return w.now[i].Pause() }

// Resume resumes a worker.
func (w *crew) Resume(i int) error { return w.now[i].Resume() }

// At makes a worker end in the given way when it reaches a step.
func (w *crew) At(i int, step, end string) error {
	return w.now[i].Tell(worker.Order{Step: step, End: end})
}

// Ended reports whether a worker's process has ended.
func (w *crew) Ended(i int) bool {
	select {
	case <-w.now[i].Done():
		return true
	default:
		return false
	}
}

// Paused reports whether a worker is paused.
func (w *crew) Paused(i int) bool { return w.now[i].Paused() }

// Crash ends workers at once, calls meanwhile, and starts new processes in their place.
func (w *crew) Crash(workers []int, meanwhile func()) error {
	for _, i := range workers {
		w.now[i].killed = true
		w.now[i].Kill()
	}
	if meanwhile != nil {
		meanwhile()
	}
	for _, i := range workers {
		if err := w.start(i); err != nil {
			return err
		}
	}
	for _, i := range workers {
		if err := w.wait(w.now[i]); err != nil {
			return err
		}
	}
	return nil
}

// finish asks the workers to end, and waits for them.
func (w *crew) finish() error {
	ctx, cancel := context.WithTimeout(w.ctx, finishTime)
	defer cancel()
	for _, h := range w.now {
		h.Finish()
	}
	var errs []error
	for _, h := range w.now {
		select {
		case <-h.Done():
			if err := h.Err(); err != nil {
				errs = append(errs, w.complain(h, err))
			}
		case <-ctx.Done():
			errs = append(errs, w.complain(h, errors.New("it does not end")))
		}
	}
	return errors.Join(errs...)
}

func (w *crew) kill() {
	for _, h := range w.hands {
		h.Kill()
	}
}

// complain adds the end of a process's log to an error.
func (w *crew) complain(h *hand, err error) error {
	time.Sleep(100 * time.Millisecond) // for its last log lines
	log, _ := os.ReadFile(w.file("log", h.number))
	return fmt.Errorf("process %d: %w:\n%s", h.number, err, log[max(0, len(log)-3000):])
}
