package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"
)

// A round applies one batch. One runs at a time, led by one of those who want
// an epoch applied, in its own goroutine and with its context; the others wait.
// What a round drains and cannot apply is the next round's batch, before
// anything newer: so epochs are applied in order, the plan that waits is never
// more than one, and events behind it wait in the queue, which is bounded.
type round struct {
	done chan struct{} // closed at its end; what follows is set by then
	last uint64        // the epoch it tried to reach
	err  error
	left bool // the leader's context ended, which is nobody else's failure
}

// batch is a plan on its way through the stages.
type batch struct {
	plan     Plan
	reach    reach
	next     int // the first stage that has not applied it
	attempts int
}

var errRoundLeft = errors.New("left half way")

func (c *Consumer) consume(ctx context.Context, upTo uint64, by Trigger) error {
	upTo = min(upTo, c.queue.Last())
	for waited := 0; ; waited++ {
		if err := ctx.Err(); err != nil && c.Applied() < upTo {
			return consumeError(upTo, err)
		}
		r, lead := c.join(upTo)
		switch {
		case r == nil:
			return nil
		case lead:
			c.lead(ctx, r, by)
		default:
			select {
			case <-r.done:
			case <-ctx.Done():
				return consumeError(upTo, ctx.Err())
			}
		}
		// A round that failed speaks for those it tried for, and for those that
		// were there when it began: else each of them would wait for a stage that
		// is down in its turn.
		if r.err != nil && (lead || !r.left && (waited > 0 || r.last >= upTo)) {
			return consumeError(upTo, r.err)
		}
	}
}

func consumeError(upTo uint64, err error) error {
	return fmt.Errorf("pipeline: consume up to %d: %w", upTo, err)
}

// join returns the round under way, or a new one to be led by the caller; nil
// when the epoch has been passed.
func (c *Consumer) join(upTo uint64) (r *round, lead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.applied >= upTo {
		return nil, false
	}
	if c.round == nil {
		c.round, lead = &round{done: make(chan struct{}), err: errRoundLeft}, true
	}
	return c.round, lead
}

// lead runs a round. What it defers holds also when a stage ends the goroutine.
func (c *Consumer) lead(ctx context.Context, r *round, by Trigger) {
	began := time.Now()
	b := c.pending
	if b == nil {
		b = c.draw()
	}
	b.attempts++
	r.last = b.plan.Last
	defer func() {
		took := time.Since(began)
		r.left = r.err != nil && ctx.Err() != nil
		if r.err == nil {
			c.warm.settle(&b.plan)
		}
		c.account(b, r, by, took)
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.err == nil {
			c.pending, c.applied = nil, max(c.applied, b.plan.Last)
		} else {
			c.pending = b
		}
		c.remember(newRecord(b, by, began, took, r.err))
		c.round = nil
		close(r.done)
	}()
	r.err = c.apply(ctx, b)
}

func (c *Consumer) draw() *batch {
	d := c.queue.Drain(c.cfg.Batch)
	if d.Lost > 0 {
		c.cfg.Logger.Warn("pipeline: the queue overflowed, so everything is invalidated", "events", d.Lost, "warm-ups lost", d.LostWarms)
	}
	b := &batch{plan: Merge(d)}
	b.reach = newReach(&b.plan)
	if !b.plan.All && len(b.plan.Entities) == 0 {
		b.next = len(c.cfg.Stages)
	}
	c.numbers.add(planned, int64(len(b.plan.Entities)+len(b.plan.Warms)))
	c.seen.drained(b.plan.Events)
	return b
}

// apply takes the batch through the stages that it has not passed. First it
// stops warm-ups that have loaded what the batch makes stale: from here on they
// store nothing, and what they have stored before, the stages will find.
func (c *Consumer) apply(ctx context.Context, b *batch) error {
	err := bounded(ctx, c.cfg.StageTimeout, func(ctx context.Context) error { return c.warm.begin(ctx, &b.reach) })
	if err != nil {
		return fmt.Errorf("a warm-up is storing: %w", err)
	}
	for ; b.next < len(c.cfg.Stages); b.next++ {
		s := &c.cfg.Stages[b.next]
		if err := c.invalidate(ctx, s, &b.plan); err != nil {
			return &StageError{Stage: s.Name, Err: err}
		}
	}
	return nil
}

func (c *Consumer) invalidate(ctx context.Context, s *Stage, p *Plan) (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.numbers.inc(panics)
			c.cfg.Logger.Error("pipeline: a stage panicked", "stage", s.Name, "stack", string(debug.Stack()))
			err = ErrPanic
		}
	}()
	return bounded(ctx, c.cfg.StageTimeout, func(ctx context.Context) error {
		return s.Invalidate(ctx, slices.Clone(p.Entities), p.All)
	})
}

func bounded(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// account counts a round, and logs it if it failed.
func (c *Consumer) account(b *batch, r *round, by Trigger, took time.Duration) {
	c.seen.consumed(by, took)
	c.numbers.add(consumeNanos, int64(took))
	switch by {
	case ByWrite:
		c.numbers.inc(writeRounds)
	case ByRun:
		c.numbers.inc(autoRounds)
	case ByClose:
	}
	if r.err == nil {
		c.numbers.inc(applied)
		return
	}
	c.numbers.inc(failedRounds)
	attrs := []any{"error", r.err, "epoch", b.plan.Last, "entities", len(b.plan.Entities), "all", b.plan.All, "attempt", b.attempts}
	if s, ok := errors.AsType[*StageError](r.err); ok {
		c.numbers.stageFailed(s.Stage)
	}
	level := slog.LevelWarn
	if r.left {
		level = slog.LevelDebug // somebody lost patience, which is no fault of a stage
	}
	c.cfg.Logger.Log(context.Background(), level, "pipeline: events are kept for another try", attrs...)
}
