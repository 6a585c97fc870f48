package follow

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// The errors of a [Follower].
var (
	ErrClosed      = errors.New("invalidate: follower is closed")
	ErrUnconfirmed = errors.New("invalidate: the log is out of reach")
)

// defaultWait is the default of Config.Wait. Two calls to a healthy log take less.
const defaultWait = 250 * time.Millisecond

// Follower keeps the fences of one process in step with a log, holds its lease
// and appends its invalidations. Make one with [Follow] and end it with
// [Follower.Close]. All methods may be called concurrently.
//
// It runs three goroutines. The syncer talks to the log by Sync, one call at a time, at least every
// quarter of the bound. One such round renews the lease, catches up and appends what has gathered.
// A caller makes the round itself when no round is under way. The tail waits for records.
// They arrive immediately, or within a hundredth of the bound while many come. No
// guarantee depends on the tail. The cleaner removes the cells that callers could not remove.
type Follower struct {
	cfg    Config
	log    invalidate.Log
	fences *fence.Fences
	lease  *Lease
	bound  time.Duration
	wait   time.Duration // of callers, for the log

	applying sync.Mutex // one follow at a time
	events   events

	mu      sync.Mutex    // protects what follows, up to the blank line
	queue   []*order      // orders that wait for a round
	all     *order        // the order of everything in queue; nil: none
	dirty   []*order      // orders that are written but whose cells are not all removed
	crowded bool          // an order of everything is under way
	waits   list.List     // the pending orders, oldest first
	logged  int64         // time of the last log line about pending invalidations, plus 1; 0: they are over
	lastErr error         // the log's error in the last round; nil: it answered
	took    time.Duration // duration of the last round that did not fail
	retry   backoff
	attempt attempt
	lapsed  bool
	closed  bool

	wake    chan struct{} // wakes the syncer; holds one
	heard   chan struct{} // wakes the syncer: the tail works again; holds one
	resumed chan struct{} // wakes the tail: the syncer works again; holds one
	dirtied chan struct{} // wakes the cleaner; holds one
	turn    chan struct{} // held during a round
	storing *storing      // what the next round stores; only with the turn
	stop    chan struct{}
	stopped context.CancelFunc
	ctx     context.Context // for all calls to the log
	done    sync.WaitGroup

	pending  atomic.Int64 // scopes of pending orders; written with mu held
	owed     atomic.Int64 // pending orders that are not in the log; written with mu held
	oldest   atomic.Int64 // when the oldest of them became pending, plus 1; 0: none; written with mu held
	offset   atomic.Int64 // the log's clock minus ours, µs
	widest   atomic.Int64 // the largest Page.Bound seen
	numbers  followerCounts
	caughtUp atomic.Bool // lag is meaningful
}

// attempt is the syncer's next round, or the one under way.
type attempt struct {
	running bool
	began   int64
	over    chan struct{} // closed at its end
}

// Validate returns an error that wraps [invalidate.ErrBound] if the log's Bound is too short. Without
// a bound no lease would hold, and the follower could not space its calls.
func Validate(log invalidate.Log) error {
	if b := log.Bound(); b < invalidate.MinBound {
		return fmt.Errorf("%w: %T.Bound returns %v; return %v or longer, such as 2s, and always the same", invalidate.ErrBound, log, b, invalidate.MinBound)
	}
	return nil
}

// Follow starts to follow a log, which must have passed [Validate]. It does not wait for the log: the
// lease is unconfirmed until the first answer.
func Follow(log invalidate.Log, cfg Config) *Follower {
	cfg.MaxPending = cmp.Or(cfg.MaxPending, 1<<16)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Origin.IsZero() {
		cfg.Origin = time.Now()
	}
	w := &Follower{
		cfg:    cfg,
		log:    log,
		fences: fence.NewLogged(cfg.Origin),
		bound:  log.Bound(),
		wait:   cmp.Or(cfg.Wait, defaultWait),
		wake:   make(chan struct{}, 1), heard: make(chan struct{}, 1), resumed: make(chan struct{}, 1),
		dirtied: make(chan struct{}, 1), turn: make(chan struct{}, 1),
		stop: make(chan struct{}),
	}
	log.Open(invalidate.Hooks{Tier: cfg.Tier, Remove: cfg.Remove, Named: cfg.Named})
	w.events.tell = cfg.OnApplied
	w.retry = newBackoff(w.bound)
	w.lease = &Lease{bound: int64(w.bound)}
	w.attempt.over = make(chan struct{})
	w.ctx, w.stopped = context.WithCancel(context.Background())
	w.done.Go(w.sync)
	w.done.Go(w.tail)
	w.done.Go(w.clean)
	return w
}

// Fences returns the fences that follow the log. They belong to the follower.
func (w *Follower) Fences() *fence.Fences { return w.fences }

// Lease returns the lease that the follower renews. It belongs to the follower.
func (w *Follower) Lease() *Lease { return w.lease }

// Owes reports whether this process has an invalidation that has returned or failed once, and is
// not in the log yet. The remote tier must not be trusted then, because no record marks its content
// as old. A reader calls Owes before it looks at the fences, as with the lease. An invalidation
// that is no longer owed by then has stored its fence with its position.
func (w *Follower) Owes() bool {
	return w.owed.Load() > 0 && !safeguard.Off(safeguard.Owed)
}

func (w *Follower) now() int64 { return int64(time.Since(w.cfg.Origin)) }

// Confirm waits until the lease is confirmed by a question asked at since or later. It fails
// immediately while the log is known to be unreachable, and after patience in any case. The error wraps
// [ErrUnconfirmed] and gives the reason, or it is ctx's error.
func (w *Follower) Confirm(ctx context.Context, since int64, patience time.Duration) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		over, err := w.expect(since, patience)
		if over == nil {
			return err
		}
		select {
		case <-over:
		case <-limit.C:
			return fmt.Errorf("%w: no answer within %v", ErrUnconfirmed, patience)
		case <-ctx.Done():
			return ctx.Err()
		case <-w.stop:
			return ErrClosed
		}
	}
}

// expect returns the channel to wait for. Nil means that the lease is confirmed or that waiting is
// pointless.
func (w *Follower) expect(since int64, patience time.Duration) (<-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.lease.Confirmed(); ok && at >= since {
		return nil, nil
	}
	now := w.now()
	switch {
	case w.closed:
		return nil, ErrClosed
	case w.lastErr != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnconfirmed, w.lastErr)
	case w.attempt.running && now-w.attempt.began > int64(patience):
		return nil, fmt.Errorf("%w: no answer for %v", ErrUnconfirmed, time.Duration(now-w.attempt.began))
	}
	w.rouse()
	return w.attempt.over, nil
}

// rouse makes the syncer start a round, or one more after the current round.
func (w *Follower) rouse() { signal(w.wake) }

// signal wakes the goroutine that listens to c, now or when it next listens.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// patience is how long Close waits after its deadline for calls that end with their contexts. On a busy machine
// their goroutines may run late.
const patience = time.Second

// Close ends the follower. It retries what is pending until ctx ends, or for one bound if ctx has
// no deadline. What is then still pending is lost, and a [*invalidate.PendingError] says so. If a
// call ignores its context, Close fails a second after its deadline, and the call's goroutine ends later.
// A second Close does nothing.
func (w *Follower) Close(ctx context.Context) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.bound)
		defer cancel()
	}
	w.stopped()
	close(w.stop)
	drained := make(chan error, 1)
	go func() {
		w.done.Wait()
		w.turn <- struct{}{} // a caller may still make a round
		defer func() { <-w.turn }()
		drained <- w.drain(ctx)
	}()
	select {
	case err := <-drained:
		return err
	case <-ctx.Done():
	}
	deaf := time.NewTimer(patience)
	defer deaf.Stop()
	select {
	case err := <-drained:
		return err
	case <-deaf.C: // a call ignores its context, as some drivers of databases do
		return w.lost(fmt.Errorf("a call to the log or the remote tier has not ended: %w", ctx.Err()))
	}
}

// drain retries what is pending until all of it has succeeded or ctx ends.
func (w *Follower) drain(ctx context.Context) error {
	for {
		if w.isThrough() {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return w.lost(err)
		}
		_, _ = w.ownRound(ctx)
		if w.sweep(ctx) || w.isThrough() {
			continue
		}
		t := time.NewTimer(jitter(w.bound / 16)) // little time is left
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

func (w *Follower) isThrough() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)+len(w.dirty) == 0
}

// lost returns the error for the invalidations that Close could not send. If there are none, the error
// only says why Close did not end in order.
func (w *Follower) lost(why error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var cause error
	for _, o := range slices.Concat(w.queue, w.dirty) {
		w.count(o)
		cause = cmp.Or(o.err, cause)
	}
	if w.pending.Load() == 0 {
		return fmt.Errorf("invalidate: close: %w", why)
	}
	return w.pendingError(why, cause)
}
