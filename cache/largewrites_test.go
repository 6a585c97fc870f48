package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// SetMany and DeleteMany of many thousand keys go in parts.

// The claims of a large SetMany do not end before its values are stored.
func TestSetManyOutlivesClaims(t *testing.T) {
	const n = 40_000
	synctest.Test(t, func(t *testing.T) {
		remote := faulty()
		cfg := thingConfig{Policy: patch{RemoteTimeout: new(50 * time.Millisecond)}}
		tiers := open(t, cache.TiersConfig{Remote: remote, ClaimTTL: 400 * time.Millisecond})
		c := with(t, tiers, cfg)
		remote.Delay(45 * time.Millisecond)
		vals := map[int]string{}
		for _, k := range ints(0, n) {
			vals[k] = "set"
		}
		succeeds(t, c.SetMany(t.Context(), vals))
		equal(t, total(tiers).Fills, n, "fills")
		equal(t, total(tiers).FillsLost, 0, "lost fills")
	})
}

// A large SetMany waits for a log that hangs no longer than a Set.
func TestSetManyWaitsOnceForTheLog(t *testing.T) {
	const n = 25_000
	synctest.Test(t, func(t *testing.T) {
		log := logtest.NewFaulty(logtest.NewMemory(logtest.MemoryConfig{Bound: bound}))
		tiers := open(t, cache.TiersConfig{Remote: faulty(), Log: log, InvalidateWait: 100 * time.Millisecond})
		c := with(t, tiers, thingConfig{})
		must(t, tiers.Ready(t.Context()))
		log.Hang(true)
		vals := map[int]string{}
		for _, k := range ints(0, n) {
			vals[k] = "set"
		}
		start := time.Now()
		err := c.SetMany(t.Context(), vals)
		equal(t, time.Since(start), 100*time.Millisecond, "SetMany took")
		if be, ok := errors.AsType[*cache.BatchError[int]](err); !ok || len(be.Errs) != n || !errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("SetMany = %.200v, want an error for each key", err)
		}
		log.Heal()
	})
}

// A DeleteMany of more keys than may be pending takes its time, if the remote tier and the log answer.
// It must not become an invalidation of everything.
func TestDeleteManyOfVeryManyKeys(t *testing.T) {
	const n = 70_000
	synctest.Test(t, func(t *testing.T) {
		log, remote := logtest.NewMemory(logtest.MemoryConfig{Bound: bound}), faulty()
		tiers := open(t, cache.TiersConfig{Remote: remote, Log: log})
		c := with(t, tiers, thingConfig{})
		must(t, tiers.Ready(t.Context()))
		must(t, c.Set(t.Context(), -1, "of another key"))
		remote.Delay(10 * time.Millisecond)
		succeeds(t, c.DeleteMany(t.Context(), ints(0, n), invalidate.Strict))
		equal(t, get(t, c, -1), "of another key", "a key that was not deleted")
	})
}

// If the log hangs, or a node of the remote tier, a large DeleteMany waits no longer than one of a single
// key. Its error names every key that may not be done.
func TestLargeDeleteManyAndAFault(t *testing.T) {
	const n = 20_000
	for name, hang := range map[string]bool{"the log hangs": true, "the first cell fails": false} {
		bubble(t, name, func(t *testing.T) {
			log := logtest.NewFaulty(logtest.NewMemory(logtest.MemoryConfig{Bound: bound}))
			remote := faulty()
			remote.FailKeys(errSource, "default:things:0")
			tiers := open(t, cache.TiersConfig{Remote: remote, Log: log, InvalidateWait: 100 * time.Millisecond})
			c := with(t, tiers, thingConfig{})
			must(t, tiers.Ready(t.Context()))
			log.Hang(hang)
			start := time.Now()
			err := c.DeleteMany(t.Context(), ints(0, n))
			equal(t, time.Since(start), 100*time.Millisecond, "DeleteMany took")
			be, ok := errors.AsType[*cache.BatchError[int]](err)
			if _, pending := errors.AsType[*invalidate.PendingError](err); !ok || !pending || len(be.Errs) != n {
				t.Errorf("DeleteMany = %.200v, want a PendingError for each key", err)
			}
			remote.FailKeys(nil, "default:things:0")
			log.Heal()
		})
	}
}

// A large SetMany that is cancelled between its parts names exactly the keys that it has not set. Their old
// values are gone everywhere, as after a Delete.
func TestLargeSetManyIsCancelled(t *testing.T) {
	const n = 25_000
	synctest.Test(t, func(t *testing.T) {
		log, remote := logtest.NewMemory(logtest.MemoryConfig{Bound: bound}), faulty()
		var cs [2]things
		for i := range cs {
			tiers := open(t, cache.TiersConfig{Remote: remote, Log: log})
			cs[i] = with(t, tiers, thingConfig{})
			must(t, tiers.Ready(t.Context()))
		}
		vals := map[int]string{}
		for _, k := range ints(0, n) {
			vals[k] = "old"
		}
		must(t, cs[0].SetMany(t.Context(), vals))
		if m, err := cs[1].GetMany(t.Context(), ints(0, n)); err != nil || len(m) != n {
			t.Fatalf("GetMany = %d values, %.100v", len(m), err)
		}
		for k := range vals {
			vals[k] = "new"
		}
		remote.Delay(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 75*time.Millisecond)
		defer cancel()
		be, ok := errors.AsType[*cache.BatchError[int]](cs[0].SetMany(ctx, vals))
		if !ok || len(be.Errs) == 0 || len(be.Errs) == n {
			t.Fatalf("SetMany = %.200v, want an error for some keys", be)
		}
		remote.Delay(0)
		advance(bound)
		m, _ := cs[1].GetMany(t.Context(), ints(0, n))
		for k := range vals {
			if got, set := m[k], be.Errs[k] == nil; got == "old" || set && got != "new" {
				t.Fatalf("key %d: %q in another process, set %v", k, got, set)
			}
		}
	})
}
