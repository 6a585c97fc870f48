// Package remote is the cache's access to the tier that processes share. Each call has its own
// deadline and passes a breaker. A claim whose answer was lost is given back. It also turns values into
// cells and back: payloads, terms, times, and the marks of ended loads.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/tier"
)

// maxKeys bounds the keys of one command to the tier. A longer command would delay the tier's other
// callers.
const maxKeys = 1000

// ErrOpen is the error of a call that was not made because the breaker is open.
var ErrOpen = fmt.Errorf("%w: it has failed; the next try is within a second", fault.ErrUnavailable)

// Op is a kind of call.
type Op int

// The kinds of calls.
const (
	Get Op = iota
	Claim
	Fill
	Remove
)

// String returns the name of the tier's method, in lower case.
func (o Op) String() string { return [...]string{"get", "claim", "fill", "remove"}[o] }

// errExited is the error of a call that has ended its goroutine, as t.FailNow does. Deferred
// functions see it, and the caller of a call that ran in another goroutine.
var errExited = errors.New("cache: remote tier called runtime.Goexit")

// leftError is the error of a call whose caller left or ran out of time.
type leftError struct{ error }

func (e leftError) Unwrap() error { return e.error }

// Left reports whether a call failed because of its caller. A caller that left is not a failure of
// the tier.
func Left(err error) bool {
	_, ok := errors.AsType[leftError](err)
	return ok
}

// Watcher observes the start and the end of each call. The tier receives the context that Begin
// returns. of is what [Tier.Of] got, or nil. left means that the caller left, which is not the
// tier's error.
type Watcher interface {
	Begin(ctx context.Context, op Op) (context.Context, trace.Span)
	End(ctx context.Context, op Op, of any, s trace.Span, took time.Duration, err error, left bool)
}

// Config configures a [Tier]. All fields are required.
type Config struct {
	Tier    tier.Remote
	Now     func() int64 // nanoseconds on a monotonic clock
	Logger  *slog.Logger
	Watcher Watcher
	Work    *calls.Work // Close of the cache waits for it
}

// Tier is a remote tier behind its breaker. All methods may be called concurrently. A method with a
// timeout gives the tier that long, or the time that the caller's context leaves.
type Tier struct {
	Config
	of      any           // for the Watcher
	canLook bool          // the tier may grant a claim with Look
	looks   *atomic.Int32 // how many more reads of this handle are looks
	breaker *breaker
	giving  chan struct{} // one for each group of claims being given back
}

// New returns the tier that cfg describes.
func New(cfg Config) *Tier {
	return &Tier{Config: cfg, canLook: cfg.Tier.Describe(cfg.Tier).Looks, looks: firstLook(), breaker: &breaker{now: cfg.Now, log: cfg.Logger}, giving: make(chan struct{}, maxGiving)}
}

// Of returns a handle of the same tier, with the same breaker, for the calls of one user. Their
// ends are reported with of.
func (t *Tier) Of(of any) *Tier {
	c := *t
	c.of, c.looks = of, firstLook()
	return &c
}

// Breaker returns the breaker's state: "closed", "open" or "half-open".
func (t *Tier) Breaker() string { return t.breaker.String() }

// call is one call under way.
type call struct {
	t       *Tier
	ctx     context.Context // passed to the tier
	d       *calls.Deadline
	timeout time.Duration
	pass    pass
	counted bool // the breaker must learn how the call ends
	op      Op
	span    trace.Span
	begun   time.Time
}

// begin begins a call, unless the breaker is open. A Remove is always tried.
func (t *Tier) begin(parent context.Context, d *calls.Deadline, op Op, timeout time.Duration) (c call, err error) {
	c = call{t: t, d: d, op: op, timeout: timeout}
	if c.pass, c.counted = t.breaker.enter(); !c.counted && op != Remove {
		return c, ErrOpen
	}
	c.start(parent)
	return c, nil
}

func (c *call) start(parent context.Context) {
	work := c.t.Work
	if c.op == Fill { // a closing process still gives back its claims
		work = nil
	}
	c.begun = c.d.Start(parent, c.timeout, work)
	c.ctx, c.span = c.t.Watcher.Begin(c.d, c.op)
}

// end ends the call. Callers defer it: it turns a panic of the client library into an error.
// go-redis v9.23 panics on some malformed replies.
func (c *call) end(err *error) {
	if p := recover(); p != nil {
		*err = panicked(p)
	}
	how := c.d.Finish(*err)
	c.t.Watcher.End(c.ctx, c.op, c.t.of, c.span, time.Since(c.begun), *err, how.Left())
	if how.Left() {
		*err = leftError{*err}
	}
	if !c.counted {
		return
	}
	if c.op == Remove && how == calls.Failed {
		// Cells on a hanging node are retried again and again. That must not block reads from the
		// other nodes.
		how = calls.Canceled
	}
	c.t.breaker.leave(c.pass, how, c.timeout, *err)
}

// one is the memory of a call for one key. A call that succeeded gives it back. After an error, a tier may still
// use it, if it goes on in the background against its contract.
type one struct {
	key   [1]string
	claim [1]tier.Claim
	frame [1][]byte
	got   [1]tier.Claimed
}

var ones = sync.Pool{New: func() any { return new(one) }}

func (o *one) free() {
	*o = one{}
	ones.Put(o)
}

// Get reads a cell. The call runs in d, which must be zero and belongs to the call from then on.
func (t *Tier) Get(ctx context.Context, d *calls.Deadline, timeout time.Duration, key string) (b []byte, err error) {
	c, err := t.begin(ctx, d, Get, timeout)
	if err != nil {
		return nil, err
	}
	defer c.end(&err)
	err = errExited
	o := ones.Get().(*one)
	o.key[0] = key
	if err = t.Tier.Get(c.ctx, o.key[:], o.frame[:]); err == nil {
		b = o.frame[0]
		t.learn(b != nil)
		o.free()
	}
	return b, err
}

func (t *Tier) remove(ctx context.Context, timeout time.Duration, keys []string) (err error) {
	c, err := t.begin(ctx, new(calls.Deadline), Remove, timeout)
	if err != nil {
		return err
	}
	defer c.end(&err)
	err = errExited
	return t.Tier.Remove(c.ctx, keys)
}

// The calls for many keys return an answer for each key together with an error, because some keys may have
// been answered.

// GetMany reads cells.
func (t *Tier) GetMany(ctx context.Context, timeout time.Duration, keys []string) ([][]byte, error) {
	frames := make([][]byte, len(keys))
	return frames, t.inChunks(ctx, Get, timeout, len(keys), func(ctx context.Context, from, to int) error {
		return t.Tier.Get(ctx, keys[from:to], frames[from:to])
	})
}

// ClaimMany claims cells. It gives back claims whose answers were lost.
func (t *Tier) ClaimMany(ctx context.Context, timeout time.Duration, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	got := make([]tier.Claimed, len(keys))
	err := t.inChunks(ctx, Claim, timeout, len(keys), func(ctx context.Context, from, to int) error {
		return t.Tier.Claim(ctx, keys[from:to], claims[from:to], got[from:to])
	})
	if err != nil && !errors.Is(err, ErrOpen) {
		t.giveBack(ctx, timeout, keys, claims, func(i int) bool {
			// A refused claim was answered. The caller of a renewal already has the claim.
			return !got[i].Granted && len(got[i].Cell) == 0 && claims[i].Seen != claims[i].Nonce
		})
	}
	return got, err
}

// FillMany fills cells, or gives them back.
func (t *Tier) FillMany(ctx context.Context, timeout time.Duration, keys []string, fills []tier.Fill) ([]bool, error) {
	ok := make([]bool, len(keys))
	err := t.inChunks(ctx, Fill, timeout, len(keys), func(ctx context.Context, from, to int) error {
		return t.Tier.Fill(ctx, keys[from:to], fills[from:to], ok[from:to])
	})
	if err != nil { // the claims may stand; a value that was stored after all stays
		claims := make([]tier.Claim, len(fills))
		for i, f := range fills {
			claims[i].Nonce = f.Nonce
		}
		t.giveBack(ctx, timeout, keys, claims, func(i int) bool { return !ok[i] })
	}
	return ok, err
}

// atOnce is how many commands of one call run at a time.
const atOnce = 4

// inChunks makes a call for every maxKeys of n keys, each with its own deadline. They run in parallel,
// so a hanging node delays only its own keys. After a call that ran out of time no other one begins,
// so a tier that hangs costs one timeout for any number of keys.
func (t *Tier) inChunks(ctx context.Context, op Op, timeout time.Duration, n int, f func(ctx context.Context, from, to int) error) error {
	if n <= maxKeys {
		_, err := t.inChunk(ctx, op, timeout, 0, n, f)
		return err
	}
	var wg sync.WaitGroup
	var over atomic.Bool
	turns, errs := make(chan struct{}, atOnce), make([]error, (n+maxKeys-1)/maxKeys)
	for i := range errs {
		if turns <- struct{}{}; over.Load() {
			break
		}
		wg.Go(func() {
			defer func() { <-turns }()
			from := i * maxKeys
			errs[i] = errExited
			late, err := t.inChunk(ctx, op, timeout, from, min(from+maxKeys, n), f)
			if errs[i] = err; late {
				over.Store(true)
			}
		})
		if i == 0 && t.Breaker() != "closed" { // it lets one call through, and the others after that
			wg.Wait()
		}
	}
	wg.Wait()
	return whyOf(errs)
}

// inChunk makes one call. It reports whether the call failed because its time, or its caller's, was over.
func (t *Tier) inChunk(ctx context.Context, op Op, timeout time.Duration, from, to int, f func(ctx context.Context, from, to int) error) (late bool, err error) {
	c, err := t.begin(ctx, new(calls.Deadline), op, timeout)
	if err != nil {
		return false, err
	}
	defer c.end(&err)
	err = errExited
	err = f(c.ctx, from, to)
	return err != nil && c.d.Err() != nil, err
}

// whyOf joins the errors of calls. An open breaker only follows from the other errors.
func whyOf(errs []error) error {
	made := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, ErrOpen) })
	return cmp.Or(errors.Join(made...), errors.Join(errs...))
}

// panicked returns the error for a panic of the client library.
func panicked(p any) error { return fmt.Errorf("cache: remote tier panicked (%T)", p) }
