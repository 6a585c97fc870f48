// Package fault is shared by the fault-injecting wrappers of tiertest and logtest: it holds the
// faults of each operation and counts its calls.
package fault

import (
	"context"
	"sync"
	"time"
)

// Fault is the fault of one operation. The zero Fault is none.
type Fault struct {
	Err   error         // returned instead of a call
	Lost  error         // returned instead of the reply
	Delay time.Duration // before anything else
	hang  chan struct{} // closed when the hanging ends; nil: no hanging
}

// Hang waits until the hanging ends, if there is any. If ctx ends first, Hang returns its error.
func (x Fault) Hang(ctx context.Context) error {
	if x.hang == nil {
		return nil
	}
	select {
	case <-x.hang:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ops are the operations of one wrapper, numbered from zero, with their faults and counts. All
// methods may be called concurrently. A method that gets no operations applies to all.
type Ops[Op ~int] struct {
	mu     sync.Mutex // protects all below
	faults []Fault
	calls  []int
}

// New returns n operations without faults.
func New[Op ~int](n Op) *Ops[Op] {
	return &Ops[Op]{faults: make([]Fault, n), calls: make([]int, n)}
}

// Enter counts a call of op and returns its fault.
func (o *Ops[Op]) Enter(op Op) Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls[op]++
	return o.faults[op]
}

// Now returns the current fault of op.
func (o *Ops[Op]) Now(op Op) Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.faults[op]
}

// Set changes the faults of ops.
func (o *Ops[Op]) Set(ops []Op, change func(*Fault)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, op := range o.all(ops) {
		change(&o.faults[op])
	}
}

// Hang makes calls of ops hang, or ends that.
func (o *Ops[Op]) Hang(on bool, ops []Op) {
	o.Set(ops, func(x *Fault) {
		switch {
		case on && x.hang == nil:
			x.hang = make(chan struct{})
		case !on && x.hang != nil:
			close(x.hang)
			x.hang = nil
		}
	})
}

// Heal ends all faults. The counts stay.
func (o *Ops[Op]) Heal() {
	o.Hang(false, nil)
	o.Set(nil, func(x *Fault) { *x = Fault{hang: x.hang} })
}

// Calls returns how often ops were called since the last ResetCalls.
func (o *Ops[Op]) Calls(ops []Op) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, op := range o.all(ops) {
		n += o.calls[op]
	}
	return n
}

// ResetCalls sets the counts to zero.
func (o *Ops[Op]) ResetCalls() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.calls)
}

// all returns ops, or every operation for none.
func (o *Ops[Op]) all(ops []Op) []Op {
	if len(ops) > 0 {
		return ops
	}
	for op := range o.faults {
		ops = append(ops, Op(op))
	}
	return ops
}

// Setting is a value that may change while calls are under way. The zero Setting holds the zero
// value. All methods may be called concurrently.
type Setting[T any] struct {
	mu sync.Mutex // protects v
	v  T
}

// Set changes the value.
func (s *Setting[T]) Set(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.v = v
}

// Get returns the value.
func (s *Setting[T]) Get() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.v
}

// Sleep waits for d. If ctx ends first, Sleep returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
