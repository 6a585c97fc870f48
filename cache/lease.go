package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// What a process has cached is worth nothing by itself: somebody may have
// invalidated it, and the message may be lost, or late, or the process may have
// slept through it. Two facts make it worth something.
//
// The lease: the log has been asked at most a bound ago what this process had
// missed, and the answer has been applied. Whoever invalidated something before
// that question is known here, and its fence is found; whoever did it later did
// it less than a bound ago. There is no third case, whatever became of any
// message.
//
// The load: the value was read from the source, by this process, at most a
// bound ago. That needs no log at all, and is what the cache lives on while the
// log is out of reach.
//
// Three rules of order make the first fact true. Each has a story in testdata/log
// that fails when it is broken, and a mutant in internal/explore.
//
//   - A reader takes the lease first and looks at the fences second; the
//     follower stores fences first and extends the lease last.
//   - Marks (ticks and positions) are captured before the fetch or the load
//     that they describe, never after.
//   - Cells are removed before the record is written.
//
// And one of principle: an entry is judged when it is read. Nothing is right
// because it was deleted.

// leasePatience is how long a read waits at most for the lease to be renewed
// before it goes to the source.
const leasePatience = 150 * time.Millisecond

// errUnconfirmed says that the remote tier's answer cannot be judged.
var errUnconfirmed = errors.New("cache: no lease")

// follow begins to follow the log, if there is one.
func (t *Tiers) follow() {
	if t.cfg.Log == nil {
		t.fences, t.lease = t.unlogged(), &follow.Lease{}
		t.lease.Without()
		t.settleBeforeForgetting()
		return
	}
	cfg := follow.Config{Origin: t.base, OnLag: t.seen.lag, OnApplied: t.heard, Wait: t.cfg.InvalidateWait, Logger: t.log}
	if t.remote != nil {
		cfg.Remove, cfg.Tier = t.removeCells, nameOfTier(t.cfg.Remote)
		cfg.Names = namesFor(t.cfg.Log, t.cfg.Remote)
	}
	t.bound = int64(t.cfg.Log.Bound())
	t.follower = follow.Follow(t.cfg.Log, cfg)
	t.fences, t.lease = t.follower.Fences(), t.follower.Lease()
	t.settleBeforeForgetting()
}

// unlogged returns the fences of tiers without a log.
func (t *Tiers) unlogged() *follow.Fences {
	if t.remote == nil {
		return follow.NewLocalFences(t.base)
	}
	return follow.NewFences(t.base)
}

// Ready waits until this process knows what the log knows, so that it can serve
// from its tiers and hears of what others invalidate, and says why not when ctx
// ends first. Reads need not wait for it: until then they go to the source.
// Without a log it is always ready.
func (t *Tiers) Ready(ctx context.Context) error {
	if _, err := t.ready(ctx); err != nil {
		return &Error{Op: "ready", Key: "-", Err: err}
	}
	return nil
}

// Settle waits until no process of the log can serve any more what was invalidated before
// the call, which takes the log's bound: what [invalidate.Strict] does for a call of
// Invalidate, it does for an invalidation that was committed to a database, see package
// sqllog, or for what others have invalidated. Call it after the commit, and not in the
// transaction. It says why not when ctx ends first, or when the log cannot be asked for the
// bounds of the others. Without a log there is nobody to wait for.
func (t *Tiers) Settle(ctx context.Context) error {
	begun, err := t.ready(ctx)
	if err == nil && t.follower != nil {
		err = t.follower.Outwait(ctx, begun)
	}
	if errors.Is(err, follow.ErrClosed) {
		err = ErrClosed
	}
	if err != nil {
		return &Error{Op: "settle", Key: "-", Err: err}
	}
	return nil
}

// ready waits until the log has answered a question that was asked since the call, and
// returns when that was.
func (t *Tiers) ready(ctx context.Context) (begun int64, err error) {
	if err := t.check(); err != nil || t.follower == nil {
		return 0, err
	}
	begun = t.now()
	for {
		err := t.follower.Confirm(ctx, begun, t.cfg.Log.Bound())
		switch {
		case err == nil:
			return begun, nil
		case errors.Is(err, follow.ErrClosed):
			return begun, ErrClosed
		}
		pause := time.NewTimer(t.cfg.Log.Bound() / 20)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return begun, fmt.Errorf("%w: %w", ctx.Err(), unreached(err))
		}
	}
}

// namesFor returns how the log is to call the remote tier's cells, if they are
// on one server and the log can remove them there when it appends.
func namesFor(log invalidate.Log, remote tier.Remote) func([]string) []string {
	r, ok := log.(invalidate.CellRemover)
	n, named := remote.(tier.Namer)
	if !ok || !named {
		return nil
	}
	if server, _ := n.Names(nil); server == nil || !r.RemovesFrom(server) {
		return nil
	}
	return func(keys []string) []string {
		_, names := n.Names(keys)
		return names
	}
}

// nameOfTier returns what the processes call a remote tier that they share.
func nameOfTier(r tier.Remote) string {
	if n, ok := r.(tier.Named); ok {
		return n.Name()
	}
	return fmt.Sprintf("%T", r)
}

// unfollow ends what follow began.
func (t *Tiers) unfollow(ctx context.Context) error {
	if t.follower == nil {
		return nil
	}
	err := t.follower.Close(ctx)
	if c, ok := t.cfg.Log.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// vouches reports whether the lease that was read, or the load that began here
// at loaded, makes something good to be served now, as far as no fence covers
// it.
func (t *Tiers) vouches(lease, now, loaded int64) bool {
	return t.lease.Covers(lease, now) || now-loaded < t.bound || safeguard.Off(safeguard.Lease)
}

// young reports whether an entry is young enough for a call that demands a
// MaxAge. What other processes loaded has its age by their wall clocks; so it
// must be vouched for by a lease of that age as well, which needs none.
func (t *Tiers) young(loadedAt, readAt, lease, now int64, maxAge time.Duration) bool {
	return maxAge < 0 || (now-loadedAt <= int64(maxAge) &&
		(t.follower == nil || now-readAt <= int64(maxAge) || t.lease.Within(lease, now, maxAge)))
}

// confirm waits a moment for a lease that covers the calls made now, with the
// caller's own bound if that is shorter. Of the time that ctx leaves it takes
// half at most: the source needs the rest. A failure shows when the lease is
// asked.
//
// Now is when the call began. Confirm returns it, or when it ended if it had to wait.
func (t *Tiers) confirm(ctx context.Context, bound time.Duration, now int64) int64 {
	if t.follower == nil || safeguard.Off(safeguard.Lease) || t.lease.Within(t.lease.Read(), now, bound) {
		return now
	}
	patience := leasePatience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/2)
	}
	// A question that was asked a moment ago will do.
	_ = t.follower.Confirm(ctx, now-min(t.bound, int64(bound))/2, patience)
	return t.now()
}

// within is how old a lease may be for the call. MaxAge(0) takes any: it serves no
// remote value, and its load must be able to take the place of one.
func (o *callOpts) within() time.Duration {
	if o.maxAge > 0 {
		return o.maxAge
	}
	return math.MaxInt64
}

// canJudge reports whether the process can judge frames now, and asks for a
// lease if it has to.
func (j *job[K, V]) canJudge(ctx context.Context) bool {
	if j.t.follower == nil {
		return true
	}
	j.t.confirm(ctx, j.o.within(), j.t.now())
	return !j.t.follower.Owes() && j.judges(j.t.lease.Read())
}

// judges reports whether the lease that was read lets the process judge a frame
// now.
func (j *job[K, V]) judges(lease int64) bool {
	return safeguard.Off(safeguard.Lease) || j.t.lease.Within(lease, j.t.now(), j.o.within())
}

// assess judges a frame under a lease. The process may have slept since it
// asked for the frame, so a lease that has run out meanwhile is asked for again.
// While an own invalidation is not in the log, no fence tells that the frame is
// old. So Owes is asked before the fences, as the lease is: an invalidation that
// comes into the log in between leaves a fence that judge finds.
func (j *job[K, V]) assess(ctx context.Context, raw []byte, mark follow.Mark) (frame[K, V], error) {
	for try := 0; ; try++ {
		lease, owes := j.t.lease.Read(), j.t.follower != nil && j.t.follower.Owes()
		f := j.judge(raw, mark)
		if f.verdict != usable || (!owes && j.judges(lease)) {
			return f, nil
		}
		if try > 0 || !j.canJudge(ctx) {
			return frame[K, V]{}, errUnconfirmed
		}
	}
}

// removeCells is how the follower empties the remote tier's cells.
func (t *Tiers) removeCells(ctx context.Context, keys []string, hold time.Duration) error {
	return t.remove(ctx, t.policies.Load().For(policy.Default(), "", "").RemoteTimeout, keys, hold)
}

func (t *Tiers) remove(ctx context.Context, timeout time.Duration, keys []string, hold time.Duration) error {
	if t.remote == nil {
		return nil
	}
	return t.remote.Remove(ctx, timeout, keys, hold)
}
