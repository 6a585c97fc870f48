package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// SetMany and DeleteMany of many thousand keys go in parts.

// The claims of a large SetMany do not end before its values are stored.
func TestSetManyOutlivesClaims(t *testing.T) {
	const n = 40_000
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, paired, cache.TiersConfig{ClaimTTL: 400 * time.Millisecond}, thingConfig{Policy: patch{RemoteTimeout: new(50 * time.Millisecond)}}, asIs)
		w.wire[0].Delay(45 * time.Millisecond)
		_, vals := numbered(n, "set")
		succeeds(t, w.c[0].SetMany(t.Context(), vals))
		equal(t, total(w.tiers[0]).Fills, n, "fills")
		equal(t, total(w.tiers[0]).FillsLost, 0, "lost fills")
	})
}

// A large SetMany waits for a log that hangs no longer than a Set, also if some of its values cannot be
// stored. The records of their keys are others.
func TestSetManyWaitsOnceForTheLog(t *testing.T) {
	const n = 25_000
	synctest.Test(t, func(t *testing.T) {
		w := newDuo(t, logged, cache.TiersConfig{InvalidateWait: 100 * time.Millisecond}, thingConfig{Policy: patch{MaxValueBytes: new(10)}}, asIs)
		w.link[0].Hang(true)
		_, vals := numbered(n, "set")
		vals[7] = "much too large"
		start := time.Now()
		err := w.c[0].SetMany(t.Context(), vals)
		equal(t, time.Since(start), 100*time.Millisecond, "SetMany took")
		if be, ok := errors.AsType[*cache.BatchError[int]](err); !ok || len(be.Errs) != n || !errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("SetMany = %.200v, want an error for each key", err)
		}
		w.link[0].Heal()
	})
}

// A DeleteMany of more keys than may be pending takes its time, if the remote tier and the log answer.
// It must not become an invalidation of everything.
func TestDeleteManyOfVeryManyKeys(t *testing.T) {
	const n = 70_000
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		must(t, w.c[0].Set(t.Context(), -1, "of another key"))
		w.wire[0].Delay(10 * time.Millisecond)
		succeeds(t, w.c[0].DeleteMany(t.Context(), ints(0, n), invalidate.Strict))
		w.want(t, 0, -1, "of another key")
	})
}

// If the log hangs, or a node of the remote tier, a large DeleteMany waits no longer than one of a single
// key. Its error names every key that may not be done, also those whose cells were removed.
func TestLargeDeleteManyAndAFault(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		hang bool
	}{{"the log hangs", 20_000, true}, {"the log hangs, one part", 10, true}, {"the first cell fails", 20_000, false}} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newDuo(t, logged, cache.TiersConfig{InvalidateWait: 100 * time.Millisecond}, thingConfig{}, asIs)
			first := keyScope(t, 0).Text()
			w.wire[0].FailKeys(&tier.KeysError{Keys: []string{first}, Err: errRemote}, first) // the cells of the others are removed
			w.link[0].Hang(tt.hang)
			advance(bound / 3) // a call of the log hangs
			start := time.Now()
			err := w.c[0].DeleteMany(t.Context(), ints(0, tt.n))
			equal(t, time.Since(start), 100*time.Millisecond, "DeleteMany took")
			be, ok := errors.AsType[*cache.BatchError[int]](err)
			if !ok || len(be.Errs) != tt.n {
				t.Fatalf("DeleteMany = %.200v, want an error for each key", err)
			}
			for k, err := range be.Errs {
				_, pending := errors.AsType[*invalidate.PendingError](err)
				if !pending || !errors.Is(err, cache.ErrUnavailable) || k < 2 && !errors.Is(err, errRemote) {
					t.Fatalf("key %d: %v, want a PendingError, and with the remote tier's error for the first keys", k, err)
				}
			}
			w.wire[0].FailKeys(nil, first)
			w.link[0].Heal()
		})
	}
}

// A large SetMany that is cancelled between its parts names exactly the keys that it has not set. Their old
// values are gone everywhere, as after a Delete.
func TestLargeSetManyIsCancelled(t *testing.T) {
	const n = 25_000
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		keys, vals := numbered(n, "old")
		must(t, w.c[0].SetMany(t.Context(), vals))
		got, err := w.c[1].GetMany(t.Context(), keys)
		must(t, err)
		equal(t, maps.Equal(got, vals), true, "another process reads what SetMany has set")
		_, vals = numbered(n, "new")
		w.wire[0].Delay(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 75*time.Millisecond)
		defer cancel()
		be, ok := errors.AsType[*cache.BatchError[int]](w.c[0].SetMany(ctx, vals))
		if !ok || len(be.Errs) == 0 || len(be.Errs) == n {
			t.Fatalf("SetMany = %.200v, want an error for some keys", be)
		}
		w.wire[0].Delay(0)
		advance(bound)
		got, err = w.c[1].GetMany(t.Context(), keys)
		must(t, err)
		for k, v := range vals {
			if got[k] == fmt.Sprint("old", k) || be.Errs[k] == nil && got[k] != v {
				t.Fatalf("key %d: %q in another process, and its error in SetMany is %v", k, got[k], be.Errs[k])
			}
		}
	})
}
