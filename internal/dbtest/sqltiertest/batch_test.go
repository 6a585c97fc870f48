package sqltiertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// More keys than one statement takes, unordered, some of them twice and some claimed.
func TestLargeBatches(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{})
		const keys = 700
		names := make([]string, keys)
		claims, fills := make([]tier.Claim, keys), make([]tier.Fill, keys)
		for i := range names {
			names[i] = fmt.Sprint("k", i*7919%650) // fifty keys come twice
			claims[i] = tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute}
			fills[i] = tier.Fill{Nonce: claims[i].Nonce, Cell: cell(t, i), TTL: time.Minute}
		}
		store(t, r, names[9], cell(t, 1), time.Minute)
		got, err := tiercall.ClaimMany(t.Context(), r, names, claims)
		if err != nil {
			t.Fatal(err)
		}
		first := func(i int) bool { return slices.Index(names, names[i]) == i && i != 9 }
		for i := range names {
			if got[i].Granted != first(i) || (got[i].Cell == nil) != first(i) {
				t.Errorf("claim %d = %v, with a frame %v", i, got[i].Granted, got[i].Cell != nil)
			}
		}
		filled, err := tiercall.FillMany(t.Context(), r, names, fills)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := tiercall.GetMany(t.Context(), r, names)
		if err != nil {
			t.Fatal(err)
		}
		for i := range names {
			if filled[i] != first(i) {
				t.Errorf("fill %d = %v", i, filled[i])
			}
			if first(i) && string(frames[i]) != string(fills[i].Cell) {
				t.Errorf("frame %d has %d bytes, want %d", i, len(frames[i]), len(fills[i].Cell))
			}
		}
		if err := tiercall.Remove(t.Context(), r, names...); err != nil || rowsOf(t, p.db) != 0 {
			t.Errorf("Remove = %v; %d rows are left", err, rowsOf(t, p.db))
		}
	})
}

func TestBadBatches(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{})
		got, err := tiercall.ClaimMany(t.Context(), r, []string{"a", "b"}, []tier.Claim{{Nonce: tier.NewNonce(), Lease: time.Minute}, {}})
		if !errors.Is(err, tier.ErrNonce) || len(got) != 2 || got[1].Granted {
			t.Errorf("ClaimMany with a zero nonce = %v, %v; want %v", got, err, tier.ErrNonce)
		}
		if there := has(t, r, "a"); got[0].Granted != there {
			t.Errorf("a batch failed in part: the first claim was answered %v and stands %v", got[0].Granted, there)
		}
	})
}

// Batches with opposite orders of keys must not deadlock.
func TestBatchesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		r := p.tier(t, sqltier.Config{})
		keys := make([]string, 60)
		for i := range keys {
			keys[i] = fmt.Sprint("k", i)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				mine := slices.Clone(keys)
				if worker%2 > 0 {
					slices.Reverse(mine)
				}
				claims, fills := make([]tier.Claim, len(mine)), make([]tier.Fill, len(mine))
				for round := range 25 {
					for i := range mine {
						claims[i] = tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute}
						fills[i] = tier.Fill{Nonce: claims[i].Nonce, Cell: tier.LeaseCell(tier.NewNonce()), TTL: time.Minute}
					}
					_, err1 := tiercall.ClaimMany(ctx, r, mine, claims)
					_, err2 := tiercall.FillMany(ctx, r, mine, fills)
					err3 := tiercall.Remove(ctx, r, mine...)
					_, err4 := r.Sweep(ctx)
					if err := errors.Join(err1, err2, err3, err4); err != nil {
						t.Errorf("worker %d, round %d: %v", worker, round, err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// A transaction that reads before it writes would fail if another one has written meanwhile. In
// this pool transactions begin without a lock.
func TestSQLiteBatchesLockFirst(t *testing.T) {
	t.Parallel()
	r := installed(t, onePool(t), sqltier.Config{Dialect: sqltier.SQLite})
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			keys, claims := make([]string, 10), make([]tier.Claim, 10)
			for i := range keys {
				keys[i] = fmt.Sprint("k", worker, i)
			}
			for round := range 50 {
				for i := range keys { // they read first, and change nothing
					claims[i] = tier.Claim{Seen: tier.NewNonce(), Nonce: tier.NewNonce(), Lease: time.Minute, Refresh: true}
				}
				claims[9].Refresh = false
				if _, err := tiercall.ClaimMany(t.Context(), r, keys, claims); err != nil {
					t.Errorf("worker %d, round %d: %v", worker, round, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
