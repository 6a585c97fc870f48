package cache

import (
	"context"
	"sync"
	"time"
)

// detached is the context of a flight or of one of its loads. It has the values
// of the caller that began it and an end of its own. Package context could make
// the same of WithoutCancel, WithCancel, WithTimeout, WithValue and AfterFunc, in
// a dozen pieces; this one is part of what it belongs to, and makes a channel, a
// timer or a list only when somebody asks for it.
//
// The methods of context.Context may be called concurrently, and so may Cancel.
type detached struct {
	values   context.Context // without its end; nil: none
	fill     *Fill           // the load it is of
	outer    *detached       // whose end is its end; nil: none, or another kind of context
	deadline time.Time       // zero: none

	mu    sync.Mutex // protects the rest
	err   error
	done  chan struct{}
	timer *time.Timer
	leave func() bool // the list of an outer context of another kind
	inner *detached   // whose outer one it is
	hook  interface{ late(context.Context) }
	after map[*func()]struct{}
}

var _ context.Context = (*detached)(nil)

// closedChan is the channel of whoever asks after the end.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Deadline implements context.Context.
func (c *detached) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Value implements context.Context.
func (c *detached) Value(key any) any {
	if _, ok := key.(fillKey); ok && c.fill != nil {
		return c.fill
	}
	if c.values == nil {
		return nil
	}
	return c.values.Value(key)
}

// Err implements context.Context.
func (c *detached) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Done implements context.Context.
func (c *detached) Done() <-chan struct{} {
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

// AfterFunc makes f run in a goroutine when the context has ended. Package context
// asks for it, so that contexts derived from this one need no goroutine.
func (c *detached) AfterFunc(f func()) (stop func() bool) {
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

// begin ties the context to its outer one and to its deadline.
func (c *detached) begin(outer context.Context, timeout time.Duration) {
	c.deadline = time.Now().Add(timeout)
	c.mu.Lock()
	c.timer = time.AfterFunc(timeout, c.expire)
	c.mu.Unlock()
	if o, ok := outer.(*detached); ok {
		c.outer, c.values = o, o.values
		o.adopt(c)
		return
	}
	c.values = endless(outer)
	stop := context.AfterFunc(outer, func() { c.end(outer.Err()) })
	c.mu.Lock()
	c.leave = stop
	c.mu.Unlock()
}

// endless returns ctx without its end, itself if it has none.
func endless(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// watch makes the hook run, in a goroutine of its own, if the context ends before
// close.
func (c *detached) watch(hook interface{ late(context.Context) }) {
	c.mu.Lock()
	c.hook = hook
	err := c.err
	c.mu.Unlock()
	if err != nil {
		go hook.late(c)
	}
}

// adopt makes the end of c that of inner.
func (c *detached) adopt(inner *detached) {
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
func (c *detached) release(inner *detached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == inner {
		c.inner = nil
	}
}

func (c *detached) expire() { c.end(context.DeadlineExceeded) }

// Cancel ends the context. It implements flight.Canceler.
func (c *detached) Cancel() { c.end(context.Canceled) }

// close ends the context of a load that has returned. It reports whether the context
// had ended before. If so, the hook has run or will run, else it never does.
func (c *detached) close() (late bool) {
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

func (c *detached) end(err error) {
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
	if inner != nil { // with no lock held: it may be ending, and letting go of us
		inner.end(err)
	}
	if hook != nil {
		go hook.late(c)
	}
}
