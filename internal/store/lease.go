package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/failure"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/internal/unwrap"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
)

// A cached entry alone proves nothing: it may be invalidated, and the message may be lost or
// late, or the process may have been paused when it came. Two facts make an entry usable.
//
// The lease: at most a bound ago this process asked the log what it had missed, and applied the
// answer. An invalidation from before that question is known here, and its fence is found. An
// invalidation from after it is less than a bound old. There is no third case, whatever happened
// to any message.
//
// The load: this process read the value from the source at most a bound ago. That needs no log.
// The cache relies on it while the log is out of reach.
//
// Three rules of order make the first fact true. Each has a story in testdata/log that fails
// when the rule is broken, and a mutant in internal/explore that breaks it.
//
//   - A reader takes the lease first and then looks at the fences. The
//     follower stores fences first and then extends the lease.
//   - Marks (ticks and positions) are captured before the fetch or the load
//     that they describe, never after.
//   - Cells are removed before the record is written.
//
// The last rule: an entry is judged when it is read. No answer relies on a deletion.

// leasePatience limits how long a read waits for a new lease before it goes to the source.
const leasePatience = 150 * time.Millisecond

// ErrUnconfirmed means that the remote tier's answer cannot be judged.
var ErrUnconfirmed = errors.New("cache: no lease")

func (t *Core) follow() {
	if t.Config.Log == nil {
		t.Fences, t.Lease = fence.New(t.Base), &follow.Lease{}
		if t.remote == nil {
			t.Fences = fence.NewLocal(t.Base)
		}
		t.Lease.Without()
		t.settleBeforeForgetting()
		return
	}
	cfg := follow.Config{Origin: t.Base, OnLag: t.Seen.Lag, OnApplied: t.heard, Wait: t.Config.InvalidateWait, Logger: t.Log}
	if t.remote != nil {
		cfg.Remove, cfg.Tier = t.removeCells, nameOfTier(t.Config.Remote)
		cfg.Names = namesFor(t.Config.Log, t.Config.Remote)
	}
	t.Bound = int64(t.Config.Log.Bound())
	t.Follower = follow.Follow(t.Config.Log, cfg)
	t.Fences, t.Lease = t.Follower.Fences(), t.Follower.Lease()
	if _, own := t.Config.Remote.(tier.Namer); own && t.Follower.Stores() { // what a wrapper wraps does not count: a fill must not bypass it
		t.CellNames = cfg.Names
	}
	t.settleBeforeForgetting()
}

// Ready waits until this process knows what the log knows. Without a log it returns at once.
func (t *Core) Ready(ctx context.Context) error {
	_, err := t.ready(ctx)
	return err
}

// Settle waits until no process of the log can serve values that were invalidated before the call.
func (t *Core) Settle(ctx context.Context) error {
	begun, err := t.ready(ctx)
	if err == nil && t.Follower != nil {
		err = t.Follower.Outwait(ctx, begun)
	}
	if errors.Is(err, follow.ErrClosed) {
		err = failure.ErrClosed
	}
	return err
}

// ready waits until the log has answered a question that was asked after the call began. It
// returns when the call began.
func (t *Core) ready(ctx context.Context) (begun int64, err error) {
	if t.Follower == nil {
		return 0, nil
	}
	begun = t.Now()
	for {
		err := t.Follower.Confirm(ctx, begun, t.Config.Log.Bound())
		switch {
		case err == nil:
			return begun, nil
		case errors.Is(err, follow.ErrClosed):
			return begun, failure.ErrClosed
		}
		pause := time.NewTimer(t.Config.Log.Bound() / 20)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return begun, fmt.Errorf("%w: %w", ctx.Err(), failure.Unreached(err))
		}
	}
}

// namesFor returns the function that translates keys to the log's names of their cells. It
// returns nil unless the log can remove those cells, on the same server, when it appends.
func namesFor(log invalidate.Log, far tier.Remote) func([]string) []string {
	r, ok := log.(invalidate.CellRemover)
	n, named := unwrap.As[tier.Namer](far)
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

func (t *Core) unfollow(ctx context.Context) error {
	if t.Follower == nil {
		return nil
	}
	err := t.Follower.Close(ctx)
	if c, ok := unwrap.As[io.Closer](t.Config.Log); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// vouches reports whether a cached value may be served now, if no fence covers it. Either the
// Lease that was read covers now, or the load began in this process at loaded, less than a bound
// ago.
func (t *Core) vouches(lease, now, loaded int64) bool {
	return t.Lease.Covers(lease, now) || now-loaded < t.Bound || safeguard.Off(safeguard.Lease)
}

// Young reports whether an entry is young enough for a call with MaxAge. The age of a value that
// another process loaded depends on wall clocks. So a lease of that age must vouch for it too,
// which depends on none.
func (t *Core) Young(loadedAt, readAt, lease, now int64, maxAge time.Duration) bool {
	return maxAge < 0 || (now-loadedAt <= int64(maxAge) &&
		(t.Follower == nil || now-readAt <= int64(maxAge) || t.Lease.Within(lease, now, maxAge)))
}

// Confirm waits a moment for a lease that covers calls made now, within the caller's own bound
// if that is shorter. It takes at most half of the time that ctx leaves, because the source
// needs the rest. The later check of the lease shows a failure.
//
// Now is when the call began. confirm returns it, or the present if it had to wait.
func (t *Core) Confirm(ctx context.Context, bound time.Duration, now int64) int64 {
	if t.Follower == nil || safeguard.Off(safeguard.Lease) || t.Lease.Within(t.Lease.Read(), now, bound) {
		return now
	}
	patience := leasePatience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/2)
	}
	// A question from a moment ago is enough.
	_ = t.Follower.Confirm(ctx, now-min(t.Bound, int64(bound))/2, patience)
	return t.Now()
}

// CanJudge reports whether the process can judge frames now. It asks for a lease if necessary.
func (j *Job) CanJudge(ctx context.Context) bool {
	if j.Core.Follower == nil {
		return true
	}
	j.Core.Confirm(ctx, j.Opts.Within(), j.Core.Now())
	return !j.Core.Follower.Owes() && j.judges(j.Core.Lease.Read())
}

// judges reports whether the lease lets the process judge a frame now.
func (j *Job) judges(lease int64) bool {
	return safeguard.Off(safeguard.Lease) || j.Core.Lease.Within(lease, j.Core.Now(), j.Opts.Within())
}

// Assess judges a frame under a lease. If the process was paused after it asked for the frame
// and the lease has ended, assess asks for a new lease. While an invalidation of this process is
// not in the log, no fence shows that the frame is old. So Owes is read before the fences, like
// the lease: an invalidation that reaches the log in between leaves a fence that judge finds.
func (j *Job) Assess(ctx context.Context, raw []byte, mark fence.Mark) (Frame, error) {
	for try := 0; ; try++ {
		lease, owes := j.Core.Lease.Read(), j.Core.Follower != nil && j.Core.Follower.Owes()
		f := j.judge(raw, mark)
		if f.Verdict != Usable || (!owes && j.judges(lease)) {
			return f, nil
		}
		if try > 0 || !j.CanJudge(ctx) {
			return Frame{}, ErrUnconfirmed
		}
	}
}

// GetCell asks the remote tier for the job's cell and judges it.
func (j *Job) GetCell(ctx context.Context, d *scope.Deadline) (Frame, error) {
	if !j.CanJudge(ctx) {
		return Frame{}, ErrUnconfirmed
	}
	mark := j.Core.Fences.Capture() // before the fetch: an invalidation may overtake the reply
	raw, err := j.View.Counts.Far.Get(ctx, d, j.Policy.RemoteTimeout, j.FullKey())
	if err != nil {
		return Frame{}, err
	}
	return j.Assess(ctx, raw, mark)
}

// removeCells removes cells from the remote tier for the follower.
func (t *Core) removeCells(ctx context.Context, keys []string, hold time.Duration) error {
	return t.remove(ctx, t.defaults().RemoteTimeout, keys, hold)
}

func (t *Core) remove(ctx context.Context, timeout time.Duration, keys []string, hold time.Duration) error {
	if t.remote == nil {
		return nil
	}
	return t.farOf(keys).Remove(ctx, timeout, keys, hold)
}

// farOf returns the remote tier for the removal of keys. It counts the calls for their namespace and
// tenant, if that is the same for all of them and a cache of this process has used it.
func (t *Core) farOf(keys []string) *remote.Tier {
	if len(keys) == 0 {
		return t.remote
	}
	tenant, rest, _ := strings.Cut(keys[0], ":")
	t.mu.Lock()
	defer t.mu.Unlock()
	for namespace := range t.used.uses { // none is the first part of another
		id, ok := strings.CutPrefix(rest, namespace)
		if !ok || !strings.HasPrefix(id, ":") {
			continue
		}
		c := cmp.Or(t.counts[key.Space{Tenant: tenant, Namespace: namespace}], t.counts[key.Space{Tenant: otherTenant, Namespace: namespace}])
		prefix := keys[0][:len(keys[0])-len(id)+1]
		if c == nil || slices.ContainsFunc(keys, func(k string) bool { return !strings.HasPrefix(k, prefix) }) {
			break
		}
		return c.Far
	}
	return t.remote
}
