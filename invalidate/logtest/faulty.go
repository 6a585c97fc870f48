package logtest

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/invalidate"
)

// Op names a method of a log.
type Op int

// The operations of [invalidate.Log].
const (
	Sync Op = iota
	Tail
	numOps
)

// Hook is called around an operation, on the caller's goroutine. A is what a Sync appends; the
// hook must not change or keep it.
type Hook func(ctx context.Context, op Op, a invalidate.Append)

// Faulty is a log as one process sees it, which fails on command. Wrap the log once for each
// process that gets faults of its own. Without faults it passes calls to the inner log, and counts
// them.
//
// Faults may be changed at any time, from any goroutine. Faults of replies, and Hang, also apply to
// calls that are already running: a Tail that was waiting when the connection broke returns nothing
// through it. All methods may be called concurrently. Faulty keeps the contract of [invalidate.Log]
// with every fault except Corrupt.
type Faulty struct {
	inner         invalidate.Log
	ops           *fault.Ops[Op]
	deaf          fault.Setting[bool]
	corrupt       fault.Setting[func(invalidate.Page) invalidate.Page]
	before, after fault.Setting[Hook]
}

var _ invalidate.Log = (*Faulty)(nil)

// NewFaulty wraps inner, which must not be nil. No fault is set.
func NewFaulty(inner invalidate.Log) *Faulty {
	return &Faulty{inner: inner, ops: fault.New(numOps)}
}

// Fail makes the given operations, or all when none is given, return err without reaching the inner
// log. A Tail that is already in the inner log fails when it comes back; a Sync does not. A nil err
// ends the fault.
func (f *Faulty) Fail(err error, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Err = err })
}

// LoseReplies makes the given operations, or all, reach the inner log and take effect there, and
// then return err instead of the reply. A nil err ends the fault.
func (f *Faulty) LoseReplies(err error, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Lost = err })
}

// Delay makes the given operations, or all, wait for d before they reach the inner log. When ctx
// ends first, they return its error. Zero ends the fault.
func (f *Faulty) Delay(d time.Duration, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Delay = d })
}

// Hang makes the given operations, or all, wait until their ctx ends, or until Hang(false) or Heal.
// After Hang(false) or Heal they go on. Hang holds calls that have not reached the inner log, and
// replies that come from it.
func (f *Faulty) Hang(on bool, ops ...Op) { f.ops.Hang(on, ops) }

// DropTail makes Tail deaf: it returns an empty page and no error after a quarter of Bound,
// even if something was appended. For a Tail that never returns, use Hang(true, Tail).
func (f *Faulty) DropTail(on bool) { f.deaf.Set(on) }

// Corrupt passes every page of a successful call through how, which may change it: damage or
// duplicate a record, or omit one. Nil ends the fault.
func (f *Faulty) Corrupt(how func(invalidate.Page) invalidate.Page) { f.corrupt.Set(how) }

// Before calls fn at the start of every operation, before any fault. Use it for barriers. Nil
// ends it.
func (f *Faulty) Before(fn Hook) { f.before.Set(fn) }

// After calls fn when the inner log has answered, before any fault of replies and before the caller
// gets the reply. Use it to hold a reply on the wire. It is not called when the inner log was not
// reached. Nil ends it.
func (f *Faulty) After(fn Hook) { f.after.Set(fn) }

// Heal ends every fault and every Hang. Before, After and the counts stay.
func (f *Faulty) Heal() {
	f.ops.Heal()
	f.deaf.Set(false)
	f.corrupt.Set(nil)
}

// Calls returns how often the given operations, or all, were called since the last ResetCalls,
// including failed calls.
func (f *Faulty) Calls(ops ...Op) int { return f.ops.Calls(ops) }

// ResetCalls sets the counts to zero.
func (f *Faulty) ResetCalls() { f.ops.ResetCalls() }
