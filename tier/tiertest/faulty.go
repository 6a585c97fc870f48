package tiertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/tier"
)

// Op names a method of a remote tier.
type Op int

// The operations of [tier.Remote].
const (
	Get   Op = iota // and claims with Look
	Claim           // all others
	Fill
	Remove
	numOps
)

// ErrUnacked is the error of a fill or a claim whose answer is lost.
var ErrUnacked = errors.New("tiertest: done, answer lost")

// Faulty is a remote tier that fails on command. Without faults it passes each call to the inner
// tier, and counts it.
//
// Faults may be changed at any time, from any goroutine. A running call keeps the Fail and the
// Delay that it started with; the other faults apply when it reaches them. All methods may be
// called concurrently.
type Faulty struct {
	inner   tier.Remote
	ops     *fault.Ops[Op]
	keys    sync.Map            // errors by key
	dropped fault.Setting[bool] // fills are lost
	unheard fault.Setting[bool] // answers to fills are lost
	unacked fault.Setting[bool] // answers to claims are lost
	corrupt fault.Setting[func([]byte) []byte]
	before  fault.Setting[func(ctx context.Context, op Op, keys []string)]
}

var _ tier.Remote = (*Faulty)(nil)

// NewFaulty wraps inner, which must not be nil. No fault is set.
func NewFaulty(inner tier.Remote) *Faulty {
	return &Faulty{inner: inner, ops: fault.New(numOps)}
}

// Fail makes the given operations, or all when none is given, return err without reaching the
// inner tier. A nil err ends the fault.
func (f *Faulty) Fail(err error, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Err = err })
}

// FailKeys makes any operation on one of keys return err for that key. The other keys of a call
// work; a Remove fails as a whole. A nil err ends the fault.
func (f *Faulty) FailKeys(err error, keys ...string) {
	for _, k := range keys {
		f.keys.Store(k, err)
	}
}

// Delay makes the given operations, or all, first wait for d. When ctx ends before that, they
// return its error. Zero ends the fault.
func (f *Faulty) Delay(d time.Duration, ops ...Op) {
	f.ops.Set(ops, func(x *fault.Fault) { x.Delay = d })
}

// Hang makes the given operations, or all, wait until their ctx ends, or until Hang(false) or
// Heal. After Hang(false) or Heal they go on.
func (f *Faulty) Hang(on bool, ops ...Op) { f.ops.Hang(on, ops) }

// DropFills makes fills and releases answer true and store nothing, like a primary that dies before
// its replica gets the write. False ends the fault.
func (f *Faulty) DropFills(on bool) { f.dropped.Set(on) }

// LoseFills makes fills and releases reach the inner tier and answer [ErrUnacked], like a connection
// that breaks after the write. False ends the fault.
func (f *Faulty) LoseFills(on bool) { f.unheard.Set(on) }

// LoseClaims makes claims reach the inner tier and answer [ErrUnacked], like a connection that
// breaks after the claim. False ends the fault.
func (f *Faulty) LoseClaims(on bool) { f.unacked.Set(on) }

// Corrupt passes every frame that Get or a refused claim returns through how, which may
// change its argument. Nil ends the fault.
func (f *Faulty) Corrupt(how func(frame []byte) []byte) { f.corrupt.Set(how) }

// Before calls fn at the start of every operation, before any fault, on the caller's goroutine.
// Use it for barriers. Nil ends it. fn must not change keys.
func (f *Faulty) Before(fn func(ctx context.Context, op Op, keys []string)) {
	f.before.Set(fn)
}

// Heal ends every fault and every Hang. Before and the counts stay.
func (f *Faulty) Heal() {
	f.ops.Heal()
	f.keys.Clear()
	f.dropped.Set(false)
	f.unheard.Set(false)
	f.unacked.Set(false)
	f.corrupt.Set(nil)
}

// Calls returns how often the given operations, or all, were called since the last ResetCalls,
// including failed calls.
func (f *Faulty) Calls(ops ...Op) int { return f.ops.Calls(ops) }

// ResetCalls sets the counts to zero.
func (f *Faulty) ResetCalls() { f.ops.ResetCalls() }

// Validate calls the inner Validate.
func (f *Faulty) Validate() error { return f.inner.Validate() }

// Describe describes the inner tier, without a server. So no log touches cells without the tier and its faults.
func (f *Faulty) Describe(tier.Remote) tier.Description { return f.inner.Describe(f) }
