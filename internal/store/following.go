package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/unwrap"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// How this process follows the log.

func (t *Core) follow() {
	if t.Config.Log == nil {
		t.Fences, t.Lease = fence.New(t.Base), &follow.Lease{}
		if t.remote == nil {
			t.Fences = fence.NewLocal(t.Base)
		}
		t.Lease.Without()
		return
	}
	cfg := follow.Config{Origin: t.Base, OnLag: t.Seen.Lag, OnApplied: t.heard, Named: t.named, Wait: t.Config.InvalidateWait, Logger: t.Log}
	if t.remote != nil {
		cfg.Remove, cfg.Tier = t.removeCells, t.Config.Remote.Describe(t.Config.Remote).Name
		cfg.Names = namesFor(t.Config.Log, t.Config.Remote)
	}
	t.Bound = int64(t.Config.Log.Bound())
	t.Follower = follow.Follow(t.Config.Log, cfg)
	t.Fences, t.Lease = t.Follower.Fences(), t.Follower.Lease()
	if t.Follower.Stores() && !unwrap.Wraps(t.Config.Log) { // a Set must not bypass a wrapper
		t.CellNames = cfg.Names
	}
}

// followed are the logs that Tiers of this process follow and will close. Two Tiers on one of them would work until one closes.
var followed sync.Map

var errFollowed = errors.New("other Tiers of this process follow this log, and their Close would close it: make a log for each Tiers")

// takeLog takes a log for these Tiers. A log that Close does not close may be shared, such as one in memory.
func takeLog(log invalidate.Log) error {
	if closes(log) {
		if _, taken := followed.LoadOrStore(log, true); taken {
			return errFollowed
		}
	}
	return nil
}

// closes reports whether Close of the Tiers closes the log itself, not only wrappers around it. One whose value cannot be
// compared is left out.
func closes(log invalidate.Log) bool {
	if log == nil || !reflect.ValueOf(log).Comparable() {
		return false
	}
	for {
		w, wraps := log.(interface{ Unwrap() invalidate.Log })
		if !wraps {
			_, ok := log.(io.Closer)
			return ok
		}
		log = w.Unwrap()
	}
}

func leaveLog(log invalidate.Log) {
	if closes(log) {
		followed.Delete(log)
	}
}

// Ready waits until this process knows what the log knows. Without a log it does not wait.
func (t *Core) Ready(ctx context.Context) error {
	if t.Follower == nil {
		return nil
	}
	return t.confirm(ctx, t.Now())
}

// Settle waits until no process of the log can serve values that were invalidated before the call. Without
// a log it does not wait.
func (t *Core) Settle(ctx context.Context) error {
	if t.Follower == nil {
		return nil
	}
	begun := t.Now()
	from, err := t.Follower.Landed(ctx, begun)
	if err != nil {
		return Unreached(err)
	}
	if err := t.confirm(ctx, begun); err != nil {
		return err
	}
	if err = t.Follower.Outwait(ctx, from); errors.Is(err, follow.ErrClosed) {
		err = fault.ErrClosed
	}
	return err
}

// confirm waits until the log has answered a question that was asked at since or later.
func (t *Core) confirm(ctx context.Context, since int64) error {
	for {
		err := t.Follower.Confirm(ctx, since, t.Config.Log.Bound())
		switch {
		case err == nil:
			return nil
		case errors.Is(err, follow.ErrClosed):
			return fault.ErrClosed
		}
		pause := time.NewTimer(t.Config.Log.Bound() / 20)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("%w: %w", fault.Ended(ctx), Unreached(err))
		}
	}
}

// namesFor returns the function that translates keys to the log's names of their cells. It
// returns nil unless the log can remove those cells, on the same server, when it appends.
func namesFor(log invalidate.Log, far tier.Remote) func([]string) []string {
	d := far.Describe(far)
	if r, ok := log.(invalidate.CellRemover); !ok || d.Server == "" || !r.RemovesFrom(d.Server) {
		return nil
	}
	return func(keys []string) []string {
		names := make([]string, len(keys))
		for i, key := range keys {
			names[i] = d.Prefix + key
		}
		return names
	}
}

func (t *Core) unfollow(ctx context.Context) error {
	if t.Follower == nil {
		return nil
	}
	defer leaveLog(t.Config.Log)
	err := t.Follower.Close(ctx)
	if c, ok := unwrap.As[io.Closer](t.Config.Log); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}
