package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Consumer takes events from a queue, plans, and carries the plans out. Make one
// with [NewConsumer], let [Consumer.Run] run, and end it with [Consumer.Close].
// All methods may be called concurrently.
type Consumer struct {
	cfg     Config
	queue   *Queue
	warm    *warmer
	numbers *counters
	seen    *telemetry
	off     atomic.Bool
	stop    chan struct{} // closed by Close

	mu      sync.Mutex // protects the rest
	closed  bool
	applied uint64 // every event up to it has been applied by all stages
	round   *round // under way, or nil
	recent  []Record

	pending *batch // drained but not applied; belongs to whoever leads the round
}

// NewConsumer returns a consumer of q, which has no other. It refuses a
// configuration with faults and names all of them.
func NewConsumer(q *Queue, cfg Config) (*Consumer, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("pipeline: new consumer: %w", err)
	}
	cfg.Stages = slices.Clone(cfg.Stages)
	c := &Consumer{cfg: cfg, queue: q, numbers: newCounters(cfg.Stages), stop: make(chan struct{})}
	c.off.Store(cfg.Off)
	c.warm = newWarmer(&c.cfg, c.numbers)
	var err error
	if c.seen, err = newTelemetry(c); err != nil {
		return nil, fmt.Errorf("pipeline: new consumer: %w", err)
	}
	c.warm.observe = c.seen.warmed
	return c, nil
}

// Apply publishes the events and consumes up to the last of them: with nil,
// nothing older than what they tell of is served from any stage. It is what a
// write ends with:
//
//	if err := store.SavePost(ctx, post); err != nil { … }
//	return events.Apply(ctx, pipeline.Event{…})
//
// When one of the events is not valid, none is published. Any other error means
// that they are queued, and will be tried again by Run: the write itself stands.
// While the consumer is disabled, Apply does nothing.
func (c *Consumer) Apply(ctx context.Context, events ...Event) error {
	for i := range events {
		if err := events[i].Validate(); err != nil {
			return fmt.Errorf("pipeline: apply event %d of %d: %w", i+1, len(events), err)
		}
	}
	if c.isClosed() {
		return ErrClosed
	}
	if c.off.Load() {
		return nil
	}
	var last uint64
	for _, e := range events {
		epoch, err := c.queue.Publish(e)
		if err != nil {
			return err
		}
		last = max(last, epoch)
	}
	return c.Consume(ctx, last)
}

// Consume returns nil once every event up to the epoch has been applied by all
// stages, whoever did it. It takes batch after batch until then; while another
// call is at it, it waits for that one. Epochs that have not been given out yet
// count as the last one that has: [Everything] consumes all there is.
//
// With an error some of them have not been: they are kept, and tried again by
// the next call and by Run. It is ctx's, or wraps a [*StageError]. While the
// consumer is disabled, Consume does nothing.
func (c *Consumer) Consume(ctx context.Context, upTo uint64) error {
	if c.isClosed() {
		return ErrClosed
	}
	if c.off.Load() {
		return nil
	}
	return c.consume(ctx, upTo, ByWrite)
}

// Everything is the epoch after all others, for [Consumer.Consume].
const Everything = math.MaxUint64

// Applied returns the epoch up to which all events have been applied by all
// stages.
func (c *Consumer) Applied() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied
}

// Run consumes every Config.Window what no writer has consumed, and tries again
// what failed, until ctx ends or the consumer is closed.
func (c *Consumer) Run(ctx context.Context) {
	tick := time.NewTicker(c.cfg.Window)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.stop:
			return
		case <-tick.C:
			c.catchUp(ctx)
		}
	}
}

func (c *Consumer) catchUp(ctx context.Context) {
	if c.off.Load() {
		return
	}
	c.numbers.inc(autoRuns)
	last := c.queue.Last()
	if c.Applied() >= last {
		return
	}
	c.numbers.inc(autoHits)
	_ = c.consume(ctx, last, ByRun) // the round has logged it, and the next tick tries again
}

// Enable turns the consumer on, and consumes an invalidation of everything:
// what the stages hold is from before it was off. With an error it is on, and
// that is still to come.
func (c *Consumer) Enable(ctx context.Context) error {
	if !c.off.CompareAndSwap(true, false) {
		return nil
	}
	return c.Consume(ctx, c.queue.PublishAll())
}

// Disable turns the consumer off, for as long as the program caches nothing:
// Apply, Consume and Run do nothing, and warm-ups end. Publish goes on, into a
// queue that overflows at worst.
func (c *Consumer) Disable() {
	if c.off.CompareAndSwap(false, true) {
		c.warm.clear()
	}
}

// Close consumes what is queued, drops the warm-ups that wait and waits for
// those that run, until ctx ends; then it cancels them and returns why. Calls
// that come later fail with [ErrClosed]. A second Close does nothing.
func (c *Consumer) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	close(c.stop)
	c.mu.Unlock()
	c.warm.stop() // so that no warm-up starts that the last plan would restart
	var err error
	if !c.off.Load() {
		err = c.consume(ctx, Everything, ByClose)
	}
	if err = errors.Join(err, c.warm.wait(ctx), c.seen.close()); err != nil {
		return fmt.Errorf("pipeline: close: %w", err)
	}
	return nil
}

func (c *Consumer) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}
