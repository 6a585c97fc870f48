package pipeline

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"
)

func (w *warmer) kick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kickLocked()
}

// kickLocked starts what is due, as far as there is room, and sets the timer for
// what is not.
func (w *warmer) kickLocked() {
	if w.stopped {
		return
	}
	now := time.Now()
	for w.running < w.cfg.MaxWarming {
		t := w.nextLocked()
		if t == nil {
			return
		}
		if wait := t.due.Sub(now); wait > 0 {
			w.wakeLocked(wait)
			return
		}
		w.startLocked(t)
	}
}

// nextLocked returns the task that is to start next: of those that a batch under
// way does not reach, the one that is due first, and the oldest of several. A
// scan is enough: it is over MaxWarms tasks, and once per run.
func (w *warmer) nextLocked() *task {
	var next *task
	for _, t := range w.list {
		if t.run != nil || (w.reach != nil && w.reach.reaches(t)) {
			continue
		}
		if next == nil || t.due.Before(next.due) || (t.due.Equal(next.due) && t.order < next.order) {
			next = t
		}
	}
	return next
}

func (w *warmer) wakeLocked(wait time.Duration) {
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.kick)
		return
	}
	w.timer.Reset(wait)
}

func (w *warmer) startLocked(t *task) {
	limited, cancel := context.WithTimeout(w.base, w.cfg.WarmTimeout)
	ctx, cause := context.WithCancelCause(limited)
	t.run = &Warmup{Name: t.name, Epoch: w.epoch, ctx: ctx, cancel: cause, storing: make(chan struct{}, 1), warmer: w, task: t}
	w.running++
	run := t.run
	w.wg.Go(func() {
		began := time.Now()
		err := errRoundLeft
		defer func() { // also when the warm-up ends the goroutine
			w.finish(run, err, time.Since(began))
			cause(nil)
			cancel()
		}()
		err = w.call(ctx, run)
	})
}

func (w *warmer) call(ctx context.Context, run *Warmup) (err error) {
	defer func() {
		if v := recover(); v != nil {
			w.numbers.inc(panics)
			w.cfg.Logger.Error("pipeline: a warm-up panicked", "warm-up", run.Name, "stack", string(debug.Stack()))
			err = ErrPanic
		}
	}()
	return w.cfg.Warm(ctx, run)
}

func (w *warmer) finish(run *Warmup, err error, took time.Duration) {
	again := w.end(run)
	outcome, name := warmed, "warmed"
	switch {
	case again:
		outcome, name = restarted, "restarted"
	case run.overtaken() || (errors.Is(err, context.Canceled) && w.base.Err() != nil):
		outcome, name = skipped, "skipped"
	case err != nil:
		outcome, name = failedWarms, "failed"
		w.cfg.Logger.Warn("pipeline: a warm-up failed", "warm-up", run.Name, "epoch", run.Epoch, "error", err)
	}
	w.numbers.inc(outcome)
	w.numbers.add(warmNanos, int64(took))
	w.observe(name, took)
}

// end makes room for the next run, and reports whether this one is to be
// repeated.
func (w *warmer) end(run *Warmup) (again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := run.task
	t.run = nil
	w.running--
	if again = run.overtaken() && t.wanted() && !w.stopped; again {
		now := time.Now()
		t.latest = now.Add(10 * w.cfg.Debounce)
		t.due = now.Add(w.cfg.Debounce)
	} else {
		w.remove(t)
	}
	w.kickLocked()
	return again
}

// clear drops what waits and makes useless what runs.
func (w *warmer) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range slices.Backward(w.list) {
		t.wide = false
		clear(t.wants) // so that a run is not repeated
		if t.run != nil {
			t.run.cancel(ErrOvertaken)
			continue
		}
		w.remove(t)
		w.numbers.inc(skipped)
	}
}

// stop drops what waits and starts nothing any more.
func (w *warmer) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	for _, t := range slices.Backward(w.list) {
		if t.run == nil {
			w.remove(t)
			w.numbers.inc(skipped)
		}
	}
}

// wait waits for what runs until ctx ends, and then cancels it.
func (w *warmer) wait(ctx context.Context) error {
	defer w.cancel()
	if _, running := w.usage(); running == 0 {
		return nil
	}
	idle := make(chan struct{})
	go func() {
		w.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// usage returns how many names wait, and how many runs there are.
func (w *warmer) usage() (waiting, running int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.list) - w.running, w.running
}
