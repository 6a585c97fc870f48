package tiertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/tier"
)

// Op names a method of a remote tier.
type Op int

// The operations of [tier.Remote], [tier.Batcher] and [tier.Pinger].
const (
	Get Op = iota
	Claim
	Fill
	Unlink
	GetMany
	ClaimMany
	FillMany
	Ping
	numOps
)

// FillFault says what becomes of a fill that the tier seems to accept or fail.
type FillFault int

const (
	// FillsWork stores and answers as the inner tier does.
	FillsWork FillFault = iota
	// FillsLost answers true and stores nothing, like a primary that dies
	// before its replica hears of the write.
	FillsLost
	// FillsUnacked stores and answers [ErrUnacked], like a connection that
	// breaks behind the write.
	FillsUnacked
)

// ErrUnacked is the error of a fill under [FillsUnacked], and of a claim whose answer
// is lost.
var ErrUnacked = errors.New("tiertest: done, answer lost")

// Faulty is a remote tier that fails on command. Without faults it does what
// the tier inside does, calls it as often, and counts. It is a [tier.Batcher]
// whether or not the inner tier is; when it is not, each key counts as a single
// call, as it would without the wrapper.
//
// Faults may be switched at any time, from any goroutine; a call under way
// keeps those it started with, but for Hang. All methods may be called
// concurrently.
type Faulty struct {
	inner   tier.Remote
	ops     *fault.Ops[Op]
	keys    sync.Map // the errors of keys
	fills   fault.Setting[FillFault]
	unacked fault.Setting[bool] // answers to claims are lost
	corrupt fault.Setting[func([]byte) []byte]
	before  fault.Setting[func(ctx context.Context, op Op, keys []string)]
}

var (
	_ tier.Remote    = (*Faulty)(nil)
	_ tier.Batcher   = (*Faulty)(nil)
	_ tier.Pinger    = (*Faulty)(nil)
	_ tier.Validator = (*Faulty)(nil)
)

// NewFaulty wraps inner, which must not be nil, with no fault set.
func NewFaulty(inner tier.Remote) *Faulty {
	return &Faulty{inner: inner, ops: fault.New(numOps)}
}

// Fail makes the given operations, or all when none is given, return err
// without reaching the inner tier. A nil err ends it.
func (f *Faulty) Fail(err error, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Err = err })
}

// FailKeys makes any operation on one of keys return err for that key; in a
// batch the other keys are done. Unlink fails as a whole. A nil err ends it.
func (f *Faulty) FailKeys(err error, keys ...string) {
	for _, k := range keys {
		f.keys.Store(k, err)
	}
}

// Delay makes the given operations, or all, wait for d before anything else;
// the error of ctx comes back when that ends first. Zero ends it.
func (f *Faulty) Delay(d time.Duration, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Delay = d })
}

// Hang makes the given operations, or all, wait until their ctx ends or until
// the fault does, by Hang(false) or Heal; in that case they go on.
func (f *Faulty) Hang(on bool, ops ...Op) { f.ops.Hang(on, ops) }

// Fills sets what becomes of fills and releases.
func (f *Faulty) Fills(mode FillFault) { f.fills.Set(mode) }

// LoseClaims makes claims reach the inner tier and answer [ErrUnacked], like a
// connection that breaks behind the claim. False ends it.
func (f *Faulty) LoseClaims(on bool) { f.unacked.Set(on) }

// Corrupt passes every frame that is read, by Get, GetMany or a refused claim,
// through how, which may change the slice it is given. Nil ends it. See
// [FlipBit], [Truncate] and [Replace].
func (f *Faulty) Corrupt(how func(frame []byte) []byte) { f.corrupt.Set(how) }

// Before calls fn at the start of every operation, before any fault, on the
// caller's goroutine: a place for barriers. Nil ends it. fn must not change
// keys.
func (f *Faulty) Before(fn func(ctx context.Context, op Op, keys []string)) {
	f.before.Set(fn)
}

// Heal ends every fault and every Hang. Before and the counts stay.
func (f *Faulty) Heal() {
	f.ops.Heal()
	f.keys.Clear()
	f.fills.Set(FillsWork)
	f.unacked.Set(false)
	f.corrupt.Set(nil)
}

// Calls returns how often the given operations, or all, were called since the
// last ResetCalls, failed calls included.
func (f *Faulty) Calls(ops ...Op) int { return f.ops.Calls(ops) }

// ResetCalls sets the counts to zero.
func (f *Faulty) ResetCalls() { f.ops.ResetCalls() }

// Validate asks the inner tier when it is a [tier.Validator].
func (f *Faulty) Validate() error {
	if v, ok := f.inner.(tier.Validator); ok {
		return v.Validate()
	}
	return nil
}

// FlipBit inverts the bit at index bit, modulo the frame's length: a fault for
// [Faulty.Corrupt].
func FlipBit(bit int) func([]byte) []byte {
	return func(frame []byte) []byte {
		if len(frame) > 0 {
			i := bit % (8 * len(frame))
			frame[i/8] ^= 1 << (i % 8)
		}
		return frame
	}
}

// Truncate cuts frames after n bytes: a fault for [Faulty.Corrupt].
func Truncate(n int) func([]byte) []byte {
	return func(frame []byte) []byte { return frame[:min(n, len(frame))] }
}

// Replace gives a copy of other instead of every frame: a fault for
// [Faulty.Corrupt].
func Replace(other []byte) func([]byte) []byte {
	return func([]byte) []byte { return append([]byte{}, other...) }
}
