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

	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// The errors of a [Follower].
var (
	ErrClosed      = errors.New("invalidate: follower is closed")
	ErrUnconfirmed = errors.New("invalidate: the log is out of reach")
)

// defaultWait is the default of Config.Wait. Two calls to a log that is well take less.
const defaultWait = 250 * time.Millisecond

// Config says how a [Follower] works. Its zero value follows, and
// removes no cells.
type Config struct {
	// Origin is the origin of the times of the lease. Zero: when Follow is
	// called.
	Origin time.Time

	// Remove removes the cells of keys from the remote tier, for everybody,
	// and keeps others from storing them for hold, if that is positive. It is
	// called concurrently. When it fails for some keys alone, its error has a
	// method FailedKeys() []string that names them, as *tier.KeysError does.
	// Nil: there is no remote tier.
	Remove func(ctx context.Context, keys []string, hold time.Duration) error

	// Tier says what Remove removes from, for a log that is a CellUser: the same in all
	// processes that share the remote tier.
	Tier string

	// Names returns the names of keys' cells for a log that is a CellRemover and
	// removes them itself. Nil: Remove does.
	Names func(keys []string) []string

	// OnLag is told how long records took from the log to this process, one
	// reading per page, as well as can be told across clocks. It is called
	// from the follower's goroutines and must be quick. Nil: not called.
	OnLag func(time.Duration)

	// OnApplied is told of the fences of each record that another process has appended,
	// in the log's order, once they are applied here; of everything where records are
	// missing; and of nothing that was in the log before this process. It is called under a
	// lock and must be quick. It may keep the slice unchanged. Nil: not called.
	OnApplied func([]invalidate.Fence)

	// Logger gets one line per change of state. Nil: slog.Default.
	Logger *slog.Logger

	// Wait is how long Invalidate waits at most, from its call, until it returns a
	// PendingError. Zero: 250 ms. Negative: as long, but for one try alone; while
	// the log is known to be out of reach it returns at once.
	Wait time.Duration

	// MaxPending bounds the scopes that wait, without a caller, for a log or a
	// remote tier out of reach. Beyond it they are given up for one invalidation
	// of everything, so what they cost is bounded, too. 0: 65,536.
	MaxPending int
}

// Follower keeps the fences of one process in step with a log, holds its lease
// and appends its invalidations. Make one with [Follow] and end it with
// [Follower.Close]. All methods may be called concurrently.
//
// It runs three goroutines. The syncer talks to the log by Sync, one call at a
// time, at least every quarter of the bound: it renews the lease, catches up
// and appends what has gathered since, all in one. A caller does the same for
// itself when no round is under way. The tail waits for records so that they
// arrive within a millisecond or so, or a hundredth of the bound while many come;
// nothing rests on it. The cleaner removes the cells that callers could not remove.
type Follower struct {
	cfg     Config
	log     invalidate.Log
	remover invalidate.CellRemover // log, when it removes cells
	fences  *Fences
	lease   *Lease
	bound   time.Duration
	wait    time.Duration // of callers, for the log

	applying sync.Mutex                        // one follow at a time
	sent     atomic.Pointer[invalidate.Append] // under way; nil: nothing

	mu      sync.Mutex    // protects what follows, up to the blank line
	queue   []*order      // wait for a round
	all     *order        // in queue: one of everything; nil: there is none
	dirty   []*order      // written, and their cells are still to be removed
	crowded bool          // one of everything is on its way
	waits   list.List     // of orders: the pending ones, oldest first
	told    int64         // when the log line said that invalidations wait, and 1; 0: it does not
	lastErr error         // of the log, at the last round; nil: it answered
	took    time.Duration // the last round that did not fail
	retry   backoff
	attempt attempt
	lapsed  bool
	closed  bool

	wake    chan struct{} // of the syncer; holds one
	heard   chan struct{} // wakes the syncer: the tail is answered again; holds one
	resumed chan struct{} // wakes the tail: the syncer is answered again; holds one
	dirtied chan struct{} // wakes the cleaner; holds one
	turn    chan struct{} // held by whoever makes a round
	stop    chan struct{}
	stopped context.CancelFunc
	ctx     context.Context // of all calls to the log
	done    sync.WaitGroup

	pending  atomic.Int64 // scopes of pending orders; written with mu held
	owed     atomic.Int64 // pending orders that are not in the log; written with mu held
	oldest   atomic.Int64 // since when the oldest of them is pending, and 1; 0: none is; written with mu held
	offset   atomic.Int64 // the log's clock minus ours, µs
	widest   atomic.Int64 // the largest Page.Bound seen
	numbers  followerCounts
	caughtUp atomic.Bool // lag means something
}

// attempt is the syncer's next round, or the one under way.
type attempt struct {
	running bool
	began   int64
	over    chan struct{} // closed at its end
}

// Follow starts to follow a log. It does not wait for it: until the first
// answer the lease is not confirmed.
func Follow(log invalidate.Log, cfg Config) *Follower {
	cfg.MaxPending = cmp.Or(cfg.MaxPending, 1<<16)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Origin.IsZero() {
		cfg.Origin = time.Now()
	}
	w := &Follower{
		cfg:    cfg,
		log:    log,
		fences: newLoggedFences(cfg.Origin),
		bound:  log.Bound(),
		wait:   cfg.Wait,
		wake:   make(chan struct{}, 1), heard: make(chan struct{}, 1), resumed: make(chan struct{}, 1),
		dirtied: make(chan struct{}, 1), turn: make(chan struct{}, 1),
		stop: make(chan struct{}),
	}
	if w.remover, _ = log.(invalidate.CellRemover); w.remover == nil {
		w.cfg.Names = nil
	}
	if w.wait <= 0 {
		w.wait = defaultWait
	}
	if u, ok := log.(invalidate.CellUser); ok {
		u.UseCells(cfg.Tier, cfg.Remove)
	}
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
func (w *Follower) Fences() *Fences { return w.fences }

// Lease returns the lease that the follower renews. It belongs to the follower.
func (w *Follower) Lease() *Lease { return w.lease }

// Owes reports whether an invalidation of this process has returned, or has
// failed once, and is not in the log yet. What the remote tier holds is not to
// be trusted then: no record tells that it is old. A reader asks before it looks
// at the fences, as with the lease. Whatever is no longer owed by then has left
// its fence, with its position.
func (w *Follower) Owes() bool { return w.owed.Load() > 0 && !safeguard.Off(safeguard.Owed) }

func (w *Follower) now() int64 { return int64(time.Since(w.cfg.Origin)) }

// Confirm waits until the lease has been confirmed since the time given, by a
// question that was asked no earlier. It fails at once while the log is known
// to be out of reach, and after patience in any case; the error wraps
// [ErrUnconfirmed] and says why, or is ctx's.
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

// expect returns what to wait for; nil: the lease is confirmed, or there is
// nothing to hope for.
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

// rouse makes the syncer start a round, or another one after this.
func (w *Follower) rouse() { signal(w.wake) }

// signal wakes the goroutine that listens to c, now or when it listens next.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close ends the follower. It goes on trying to send what waits until ctx ends,
// or for one bound when ctx has no deadline. What is not through then is lost,
// and a [*PendingError] says so. A second Close does nothing.
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
	w.done.Wait()
	w.turn <- struct{}{} // a caller may still be at it
	defer func() { <-w.turn }()
	return w.drain(ctx)
}

// drain tries what waits until it is through or ctx ends.
func (w *Follower) drain(ctx context.Context) error {
	for {
		if w.isThrough() {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return w.lost(err)
		}
		_, _ = w.round(ctx, time.Time{})
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

// lost says what Close gives up.
func (w *Follower) lost(why error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var cause error
	for _, o := range slices.Concat(w.queue, w.dirty) {
		w.count(o)
		cause = cmp.Or(o.err, cause)
	}
	return w.pendingError(why, cause)
}
