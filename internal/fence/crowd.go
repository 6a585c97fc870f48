package fence

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Writers may store fences faster than a walk can check the entries. Then a table begins to use
// its reserve, and writers wait for the walk; see memory. A writer waits before it takes a lock and
// before its fence takes a tick. So the walk and all readers go on, and no reader pays for it.
//
// A walk may run a caller's code, which spells a key. That code may store a fence itself, or wait
// for a lock that a waiting writer holds. So a writer stops waiting when the walk has stayed in
// such code for a slice.

const (
	// maxWait bounds the wait of one call that stores fences on its caller's goroutine. A walk may
	// take longer. But a writer that has waited stores one fence in that time, and the reserve has
	// room for 131,072.
	maxWait = 250 * time.Millisecond

	// slice is how long a writer waits before it looks at the walk again.
	slice = 5 * time.Millisecond
)

// crowd holds the writers that wait for the end of a walk.
type crowd struct {
	urgent atomic.Uint64 // the tick at which entries must be checked; above settled: writers wait
	waits  atomic.Int64
	waited atomic.Int64  // nanoseconds
	spells atomic.Uint64 // odd: the walk runs a caller's code

	mu   sync.Mutex
	over chan struct{} // closed by the next Settled; nil: no writer waits
}

// patience is how long one call may wait for walks, in all.
type patience struct {
	ctx   context.Context //nolint:containedctx // of the call, on its stack; nil: only until counts
	until time.Time
}

func patient(ctx context.Context) patience { return patience{ctx, time.Time{}} }

// left returns how long the call may still wait.
func (p *patience) left(most time.Duration) time.Duration {
	if p.until.IsZero() {
		p.until = time.Now().Add(most)
	}
	if p.ctx != nil && p.ctx.Err() != nil {
		return 0
	}
	return time.Until(p.until)
}

// Await makes room for a fence that the caller is about to store. While fences arrive faster than
// entries can be checked, it waits for the walk that checks them: until ctx ends, and for a quarter
// of a second at most. With a log it waits for a sixteenth of the bound at most. The caller must
// hold no lock that the walk or a reader needs.
func (f *Fences) Await(ctx context.Context) {
	p := patient(ctx)
	f.await(&p)
}

func (f *Fences) await(p *patience) {
	if f.crowded() {
		f.awaitSettled(p)
	}
}

// urge makes writers wait until the entries are checked at a tick.
func (f *Fences) urge(tick uint64) {
	if tick > f.crowd.urgent.Load() {
		raise(&f.crowd.urgent, tick)
	}
}

// crowded reports whether a table uses its reserve, and no walk has made room for it.
func (f *Fences) crowded() bool { return f.crowd.urgent.Load() > f.settled.Load() }

// awaitSettled is the rare part of await.
//
//go:noinline
func (f *Fences) awaitSettled(p *patience) {
	if p.left(f.patience) <= 0 || !f.willSettle() {
		return
	}
	f.crowd.waits.Add(1)
	begun, spells := time.Now(), f.crowd.spells.Load()
	for {
		over := f.crowd.next() // before the checks
		left := p.left(f.patience)
		if left <= 0 || !f.willSettle() {
			break
		}
		select {
		case <-over:
			continue
		case <-time.After(min(left, slice)):
		}
		if now := f.crowd.spells.Load(); now != spells {
			spells = now
		} else if now%2 == 1 {
			p.until = time.Now() // neither now nor again in this call
		}
	}
	f.crowd.waited.Add(int64(time.Since(begun)))
}

// willSettle reports whether a writer must wait, and a walk is under way that it can wait for.
func (f *Fences) willSettle() bool {
	if f.crowded() && !f.settling.Load() {
		f.settleSoon()
	}
	return f.crowded() && f.settling.Load()
}

func (c *crowd) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil {
		c.over = make(chan struct{})
	}
	return c.over
}

func (c *crowd) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		close(c.over)
		c.over = nil
	}
}
