package resident

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
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
		d := t.Config.Remote.Describe(t.Config.Remote)
		cfg.Remove, cfg.Tier = t.removeCells, d.Name
		if d.Server != "" && d.Server == t.Config.Log.Server() {
			cfg.Names = func(keys []string) []string { return namesOf(keys, d.Prefix) }
		}
	}
	t.Bound, t.CellNames = int64(t.Config.Log.Bound()), cfg.Names
	t.Follower = follow.Follow(t.Config.Log, cfg)
	t.Fences, t.Lease = t.Follower.Fences(), t.Follower.Lease()
}

// namesOf returns the names of the cells of keys.
func namesOf(keys []string, prefix string) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = prefix + key
	}
	return names
}

// followed counts the Tiers of this process that follow a log. The last one closes it.
var followed = struct {
	sync.Mutex
	tiers map[invalidate.Log]int
}{tiers: map[invalidate.Log]int{}}

// takeLog counts Tiers that follow a log. It leaves out a log whose value cannot be compared.
func takeLog(log invalidate.Log) {
	if log == nil || !reflect.ValueOf(log).Comparable() {
		return
	}
	followed.Lock()
	defer followed.Unlock()
	followed.tiers[log]++
}

// leaveLog reverses takeLog. It reports whether no other Tiers follow the log.
func leaveLog(log invalidate.Log) (last bool) {
	if log == nil || !reflect.ValueOf(log).Comparable() {
		return true
	}
	followed.Lock()
	defer followed.Unlock()
	if followed.tiers[log]--; followed.tiers[log] > 0 {
		return false
	}
	delete(followed.tiers, log)
	return true
}

// Ready waits until this process knows what the log knows. Without a log it does not wait.
func (t *Core) Ready(ctx context.Context) error {
	if t.Follower == nil {
		return nil
	}
	return t.confirm(ctx, t.Now())
}

// ReadyFor waits until this process has applied the log up to some positions. Those of another epoch stand for what the
// log has now.
func (t *Core) ReadyFor(ctx context.Context, at invalidate.Cursor) error {
	switch {
	case t.Follower == nil:
		return fmt.Errorf("%w: there is no log, so nothing tells what the ticket stands for", fault.ErrUnavailable)
	case t.Fences.Reached(at):
		return nil
	}
	rest(ctx, atLeastLater)
	if err := t.confirm(ctx, t.Now()); err != nil {
		return err
	}
	if !t.has(at) {
		return fmt.Errorf("%w: the log does not have what the ticket stands for", fault.ErrUnavailable)
	}
	return nil
}

// atLeastLater is waited for before a question, so that a question of the same moment does not answer it.
const atLeastLater = time.Microsecond

// Reaches is ReadyFor with little patience. It gives up at once while the log is out of reach.
func (t *Core) Reaches(ctx context.Context, at invalidate.Cursor) bool {
	switch {
	case t.Follower == nil:
		return false
	case t.Fences.Reached(at):
		return true
	}
	rest(ctx, atLeastLater)
	return t.Follower.Confirm(ctx, t.Now(), patience(ctx)) == nil && t.has(at)
}

// has reports whether an answer of the log has brought the positions, or they are of another epoch.
func (t *Core) has(at invalidate.Cursor) bool {
	return at.Epoch != t.Fences.Cursor().Epoch || t.Fences.Reached(at)
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
		if !rest(ctx, t.Config.Log.Bound()/20) {
			return fmt.Errorf("%w: %w", fault.Ended(ctx), Unreached(err))
		}
	}
}

// rest waits. It reports false if ctx ends first.
func rest(ctx context.Context, d time.Duration) bool {
	pause := time.NewTimer(d)
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t *Core) unfollow(ctx context.Context) error {
	if t.Follower == nil {
		return nil
	}
	err := t.Follower.Close(ctx)
	if leaveLog(t.Config.Log) {
		err = errors.Join(err, t.Config.Log.Close())
	}
	return err
}
