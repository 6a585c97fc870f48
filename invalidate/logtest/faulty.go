package logtest

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
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

// Hook is called around an operation, on the caller's goroutine; a is what a
// Sync was told to append, and must not be changed or kept.
type Hook func(ctx context.Context, op Op, a invalidate.Append)

// Faulty is a log as one process sees it, which fails on command: wrap the log
// once per process that is to suffer alone. Without faults it does what the log
// inside does, and counts.
//
// Faults may be switched at any time, from any goroutine. What is said of a
// reply, or of Hang, holds for calls under way, too: a Tail that waited inside
// while the connection broke returns nothing through it. All methods may be
// called concurrently. Faulty keeps the contract of [invalidate.Log] whatever
// the faults, but for Corrupt.
type Faulty struct {
	inner         invalidate.Log
	ops           *fault.Ops[Op]
	deaf          fault.Setting[bool]
	corrupt       fault.Setting[func(invalidate.Page) invalidate.Page]
	before, after fault.Setting[Hook]
}

var _ invalidate.Log = (*Faulty)(nil)

// NewFaulty wraps inner, which must not be nil, with no fault set.
func NewFaulty(inner invalidate.Log) *Faulty {
	return &Faulty{inner: inner, ops: fault.New(numOps)}
}

// Fail makes the given operations, or all when none is given, return err
// without reaching the inner log. A Tail that is inside already fails when it
// comes back; a Sync does not. A nil err ends it.
func (f *Faulty) Fail(err error, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Err = err })
}

// LoseReplies makes the given operations, or all, reach the inner log, where
// they do what they are told, and then return err instead of the reply. A nil
// err ends it.
func (f *Faulty) LoseReplies(err error, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Lost = err })
}

// Delay makes the given operations, or all, wait for d before they reach the
// inner log; the error of ctx comes back when that ends first. Zero ends it.
func (f *Faulty) Delay(d time.Duration, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Delay = d })
}

// Hang makes the given operations, or all, wait until their ctx ends or until
// the fault does, by Hang(false) or Heal; in that case they go on. It holds
// calls that have not reached the inner log, and replies that come from there.
func (f *Faulty) Hang(on bool, ops ...Op) { f.ops.Hang(on, ops) }

// DropTail makes Tail deaf: it returns an empty page and no error after a
// quarter of Bound, whatever was appended. For a Tail that never returns at all
// there is Hang(true, Tail).
func (f *Faulty) DropTail(on bool) { f.deaf.Set(on) }

// Corrupt passes every page of a call that succeeds through how, which may
// change it: to damage or duplicate a record, or to leave one out. Nil ends it.
func (f *Faulty) Corrupt(how func(invalidate.Page) invalidate.Page) { f.corrupt.Set(how) }

// Before calls fn at the start of every operation, before any fault: a place
// for barriers. Nil ends it.
func (f *Faulty) Before(fn Hook) { f.before.Set(fn) }

// After calls fn when the inner log has answered, before any fault of replies
// and before the caller has the reply: a place to hold it on the wire. It is
// not called where the inner log was not reached. Nil ends it.
func (f *Faulty) After(fn Hook) { f.after.Set(fn) }

// Heal ends every fault and every Hang. Before, After and the counts stay.
func (f *Faulty) Heal() {
	f.ops.Heal()
	f.deaf.Set(false)
	f.corrupt.Set(nil)
}

// Calls returns how often the given operations, or all, were called since the
// last ResetCalls, failed calls included.
func (f *Faulty) Calls(ops ...Op) int { return f.ops.Calls(ops) }

// ResetCalls sets the counts to zero.
func (f *Faulty) ResetCalls() { f.ops.ResetCalls() }
