package worker

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// The steps of a transaction and of a numbering of keys at which a worker can end on demand.
const (
	Written   = "written"   // COMMIT comes next
	Committed = "committed" // COMMIT was answered, and the process has not acted on it
	Staged    = "staged"    // rows were read, and no cell is removed
	Removed   = "removed"   // the cells are removed, and no row has a number
	Numbered  = "numbered"  // the log holds the records, and this process has not applied them
)

// How a worker ends at a step.
const (
	Kill = "kill" // by SIGKILL
	Stop = "stop" // by SIGSTOP, until it is resumed
	Cut  = "cut"  // it does not end: the answer to its next statement is lost
)

// Steps are the steps of a numbering and of a transaction.
var Steps = []string{Staged, Removed, Numbered, Committed, Written}

// An Order says what to do at a step, once.
type Order struct{ Step, End string }

// steps receives orders and executes them.
type steps struct {
	armed atomic.Pointer[Order]
	cut   func()
}

// listen takes orders until the input ends.
func (s *steps) listen(in io.Reader) {
	orders := json.NewDecoder(in)
	for {
		var o Order
		if orders.Decode(&o) != nil {
			return
		}
		s.armed.Store(&o)
	}
}

// reach is called at each step.
func (s *steps) reach(step string) {
	o := s.armed.Load()
	if o == nil || o.Step != step || !s.armed.CompareAndSwap(o, nil) {
		return
	}
	switch o.End {
	case Kill:
		proc.KillSelf()
	case Stop:
		proc.StopSelf()
	case Cut:
		s.cut()
	}
}

// steppedLog is a log that can end the process between two steps of a numbering. As a control it
// removes cells after the rows that name them have numbers.
type steppedLog struct {
	*sqllog.Log
	steps    *steps
	late     bool // the control
	numbered atomic.Int64
	named    atomic.Bool // a row staged since the last call names keys

	mu   sync.Mutex // protects left
	left []func()   // the cell removals that the control has postponed
}

func (l *steppedLog) Open(h invalidate.Hooks) {
	if remove := h.Remove; remove != nil {
		h.Remove = func(ctx context.Context, keys []string) error { return l.remove(ctx, keys, remove) }
	}
	l.Log.Open(h)
}

func (l *steppedLog) remove(ctx context.Context, keys []string, remove func(context.Context, []string) error) error {
	l.named.Store(true)
	l.steps.reach(Staged)
	if l.late {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.left = append(l.left, func() { _ = remove(context.Background(), keys) })
		return nil
	}
	err := remove(ctx, keys)
	l.steps.reach(Removed)
	return err
}

func (l *steppedLog) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	p, err := l.Log.Sync(ctx, at, a)
	l.end()
	return p, err
}

func (l *steppedLog) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	p, err := l.Log.Tail(ctx, at)
	l.end()
	return p, err
}

// end is called after a Sync or a Tail, which may have numbered rows.
func (l *steppedLog) end() {
	n := l.Stats().Numbered
	if l.numbered.Swap(n) >= n {
		return
	}
	if l.named.Swap(false) {
		l.steps.reach(Numbered)
	}
	l.mu.Lock()
	left := l.left
	l.left = nil
	l.mu.Unlock()
	for _, remove := range left {
		remove()
	}
}
