// Package calls merges concurrent work on one key into one call, and holds the contexts that the cache
// works under and the set of its background work.
//
// A [Group] differs from golang.org/x/sync/singleflight in two ways. A participant may leave: each waits
// under its own context, and the work is abandoned when the last one has left. And a newcomer may
// refuse to join a call, because the call began before something that the newcomer must not miss.
// The earlier participants keep that call, and the newcomer starts another.
//
// The package starts no goroutine. Join tells the leader that it leads. The leader does the work
// in any goroutine and ends the call with Finish.
package calls

import (
	"context"
	"sync"
	"time"
)

// Scope is the context of a piece of work or of a part of it. It has the values of the caller that
// began it, but its own end:
//
//	ended by             through     Err
//	its owner, or Close  Cancel      context.Canceled
//	its own timer        Begin       context.DeadlineExceeded
//	the outer context    Begin       the outer context's error
//	the work's return    Close       context.Canceled, and the hook never runs
//
// Package context could provide the same with a dozen objects of WithoutCancel, WithCancel,
// WithTimeout, WithValue and AfterFunc. A Scope is embedded in the struct that uses it, and makes a
// channel, a timer or a list only on demand.
//
// The methods of context.Context may be called concurrently, and so may Cancel. The zero Scope has
// no values and no end.
type Scope struct {
	Task
	values   context.Context // its end does not end the scope; may be nil
	key, own any             // a value in front of them
	outer    *Scope          // its end ends the scope; nil if there is none, or another kind of context
	deadline time.Time       // zero if there is none

	mu    sync.Mutex // protects the rest
	err   error
	done  chan struct{}
	timer *time.Timer
	leave func() bool // leaves an outer context of another kind
	inner *Scope      // the scope whose outer scope this is
	hook  Hook
	after map[*func()]struct{}
}

// Hook is called, in its own goroutine, when a scope ends before it is closed.
type Hook interface{ Late(context.Context) }

var _ context.Context = (*Scope)(nil)

// closedChan is the result of Done after the end.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Detach gives the scope the values of ctx. Call it before any other method.
func (c *Scope) Detach(ctx context.Context) {
	c.values = ctx
	if o, ok := ctx.(*Scope); ok && o.key == nil {
		c.values = o.values
	}
}

// Carry puts a value in front of the others. Call it before the scope is shared.
func (c *Scope) Carry(key, value any) { c.key, c.own = key, value }

// Deadline implements context.Context.
func (c *Scope) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Value implements context.Context.
func (c *Scope) Value(key any) any {
	switch {
	case c.key != nil && key == c.key:
		return c.own
	case c.values == nil:
		return nil
	case c.values.Done() == nil:
		return c.values.Value(key)
	}
	return context.WithoutCancel(c.values).Value(key) // package context looks for its own values in there
}

// Err implements context.Context.
func (c *Scope) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Done implements context.Context.
func (c *Scope) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.done != nil:
	case c.err != nil:
		c.done = closedChan
	default:
		c.done = make(chan struct{})
	}
	return c.done
}

// AfterFunc makes f run in a goroutine when the context has ended. Package context calls it, so
// contexts derived from this one need no goroutine.
func (c *Scope) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = make(map[*func()]struct{})
	}
	c.after[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, ok := c.after[&f]
		delete(c.after, &f)
		return ok
	}
}

// Begin gives the scope the values and the end of an outer context, and a deadline. Now is
// the present: the caller has just read the clock.
func (c *Scope) Begin(outer context.Context, now time.Time, timeout time.Duration) {
	c.deadline = now.Add(timeout)
	c.mu.Lock()
	c.timer = time.AfterFunc(timeout, c.expire)
	c.mu.Unlock()
	if o, ok := outer.(*Scope); ok {
		c.outer, c.values = o, o.values
		o.adopt(c)
		return
	}
	c.values = outer
	stop := context.AfterFunc(outer, func() { c.end(outer.Err()) })
	c.mu.Lock()
	c.leave = stop
	c.mu.Unlock()
}

// Overdue reports whether the clock is past the deadline; the timer may be late.
func (c *Scope) Overdue() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

// Watch makes the hook run if the context ends before Close.
func (c *Scope) Watch(hook Hook) {
	c.mu.Lock()
	c.hook = hook
	err := c.err
	c.mu.Unlock()
	if err != nil {
		go hook.Late(c)
	}
}

// adopt makes the end of c end inner, too.
func (c *Scope) adopt(inner *Scope) {
	c.mu.Lock()
	err := c.err
	if err == nil {
		c.inner = inner
	}
	c.mu.Unlock()
	if err != nil {
		inner.end(err)
	}
}

// release undoes adopt.
func (c *Scope) release(inner *Scope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == inner {
		c.inner = nil
	}
}

func (c *Scope) expire() { c.end(context.DeadlineExceeded) }

// Cancel ends the context.
func (c *Scope) Cancel() { c.end(context.Canceled) }

// Close ends the context of work that has returned. It reports whether the context had already
// ended. If so, the hook has run or will run; otherwise it never runs.
func (c *Scope) Close() (late bool) {
	c.mu.Lock()
	late = c.err != nil
	c.hook = nil
	leave := c.leave
	c.mu.Unlock()
	c.Cancel()
	if c.outer != nil {
		c.outer.release(c)
	}
	if leave != nil {
		leave()
	}
	return late
}

func (c *Scope) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	inner, hook := c.inner, c.hook
	if c.done != nil {
		close(c.done)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	for f := range c.after {
		go (*f)()
	}
	c.after = nil
	c.mu.Unlock()
	if inner != nil { // without a lock: inner may be ending and calling release
		inner.end(err)
	}
	if hook != nil {
		go hook.Late(c)
	}
}
