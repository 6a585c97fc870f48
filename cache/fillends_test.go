package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A read that Close ends says ErrClosed, wherever it waits. A cancellation by the caller stays
// the caller's.
func TestReadsEndedByClose(t *testing.T) {
	deaf := make(chan struct{}) // a load that ignores its context
	obeys := func(ctx context.Context, _ int) (string, error) {
		<-ctx.Done()
		return "", fmt.Errorf("query: %w", ctx.Err())
	}
	ignores := func(context.Context, int) (string, error) { <-deaf; return "", errSource }
	for name, tt := range map[string]struct {
		load    cache.Loader[int, string]
		many    bool          // by LoadMany
		claimed bool          // another process loads the key
		turn    bool          // another load has the only turn
		hung    []tiertest.Op // the remote tier does not answer them
	}{
		"a load":                   {load: obeys},
		"a load that does not end": {load: ignores},
		"a batch":                  {load: obeys, many: true},
		"a batch that ignores it":  {load: ignores, many: true},
		"another's claim":          {load: obeys, claimed: true},
		"a turn":                   {load: obeys, turn: true},
		"a remote tier that hangs": {load: obeys, hung: []tiertest.Op{tiertest.Get, tiertest.GetMany}},
		"a claim that hangs":       {load: obeys, hung: []tiertest.Op{tiertest.Claim, tiertest.ClaimMany}},
	} {
		bubble(t, name, func(t *testing.T) {
			deaf = make(chan struct{})
			remote := faulty()
			tiers, err := cache.Open(cache.TiersConfig{Remote: remote, MaxLoads: 1})
			must(t, err)
			cfg := thingConfig{Load: tt.load, Policy: patch{RemoteTimeout: new(time.Minute), LoadTimeout: new(time.Hour)}}
			if tt.many {
				cfg.LoadMany = func(ctx context.Context, keys []int) (map[int]string, error) {
					_, err := tt.load(ctx, keys[0])
					return nil, err
				}
			}
			c := with(t, tiers, cfg)
			if tt.turn {
				go func() { _, _ = c.Get(t.Context(), 99) }()
				synctest.Wait()
			}
			if tt.claimed {
				for _, k := range []string{cell1, "default:things:2"} {
					if _, err := remote.Claim(t.Context(), k, tier.Claim{Nonce: tier.NewNonce(), Lease: time.Hour}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if tt.hung != nil {
				remote.Hang(true, tt.hung...)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Second, func() {
				ended, now := context.WithCancel(context.Background())
				now()
				_ = tiers.Close(ended)
			})
			crowd(5, func(i int) {
				var err error
				switch i {
				case 0:
					_, err = c.Get(ctx, 1)
				case 1:
					_, err = c.Fetch(ctx, 1, nil, cache.MaxAge(time.Hour))
				case 2:
					_, err = c.GetMany(ctx, []int{1, 2})
				case 3:
					err = c.Refresh(ctx, 2)
				case 4:
					if _, ok := c.Peek(ctx, 3); ok {
						t.Error("Peek finds something")
					}
					return
				}
				if !errors.Is(err, cache.ErrClosed) || errors.Is(err, context.Canceled) {
					t.Errorf("call %d, which Close ended, says %v; want ErrClosed and not Canceled", i, err)
				}
			})
			if s := total(tiers); tt.hung != nil && s.Loads > 0 {
				t.Errorf("%d loads began after Close", s.Loads)
			}
			close(deaf)
			remote.Heal()
			synctest.Wait()
		})
	}
}

// While nothing is closed, a load that is cancelled says so, and not that the tiers are closed.
func TestCancelledLoadIsNotClosed(t *testing.T) {
	play(t, scene{err: context.Canceled, steps: "source fails; a gets cancelled"})
}

// A stale value that stands in for a failed load is remote if only the remote tier held it.
func TestSourceOfStandIns(t *testing.T) {
	cfg := thingConfig{Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour), LoadTimeout: new(time.Second)}}
	for name, steps := range map[string]string{
		"both":                  "b gets 1.1; wait 1m; source fails; b gets 1.1 local stale",
		"local":                 "b gets 1.1; wait 1m; source fails; b's remote fails; b gets 1.1 local stale",
		"remote":                "wait 1m; source fails; b gets 1.1 remote stale",
		"remote, SkipLocal":     "wait 1m; source fails; b gets 1.1 remote stale SkipLocal",
		"both, SkipLocal":       "b gets 1.1; wait 1m; source fails; b gets 1.1 remote stale SkipLocal",
		"local, SkipRemote":     "b gets 1.1; wait 1m; source fails; b gets 1.1 local stale SkipRemote",
		"remote, MaxAge":        "wait 1m; source fails; b gets 1.1 remote stale MaxAge=1h",
		"remote, a LoadTimeout": "wait 1m; source takes=1m; b gets 1.1 remote stale",
	} {
		play(t, scene{name: name, on: paired, cfg: cfg, steps: "a gets 1.1; " + steps})
	}
}

// Loaders of two processes that read each other's keys end after LoadTimeout, as guarantee 2
// says: no process sees the circle.
func TestCrossedLoadsOfTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 5 * time.Second
		remote := tiertest.NewMemory()
		cs := make([]things, 2)
		for i := range cs {
			cs[i] = with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{
				Policy: patch{LoadTimeout: new(most)},
				Load: func(ctx context.Context, k int) (string, error) {
					if err := nap(ctx, 10*time.Millisecond); err != nil {
						return "", err
					}
					return cs[i].Get(ctx, 1-k)
				},
			})
		}
		begun := time.Now()
		crowd(2, func(i int) {
			if _, err := cs[i].Get(t.Context(), i); !errors.Is(err, cache.ErrLoadTimeout) {
				t.Errorf("the caller of %d gets %v, want ErrLoadTimeout", i, err)
			}
		})
		if d := time.Since(begun); d != most {
			t.Errorf("the callers waited %v, want LoadTimeout, %v", d, most)
		}
	})
}

// Close without a deadline returns within one bound, even if a load that ignores its context
// hangs, or the log hangs, or both.
func TestCloseIsBounded(t *testing.T) {
	for name, tt := range map[string]struct{ log, load, down, pending bool }{
		"a load, no log":                          {load: true},
		"a load, a log":                           {load: true, log: true},
		"a log that is down, something waits":     {log: true, down: true, pending: true},
		"a load, a log that is down, all waiting": {load: true, log: true, down: true, pending: true},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{})
			tiers := w.tiers[0]
			if !tt.log {
				tiers = open(t, cache.TiersConfig{})
			}
			release := make(chan struct{})
			defer close(release)
			c := with(t, tiers, cache.Config[int, string]{Load: func(context.Context, int) (string, error) {
				<-release
				return "", nil
			}})
			if tt.load {
				go func() { _, _ = c.Get(t.Context(), 1) }()
				synctest.Wait()
			}
			if tt.down {
				w.link[0].Hang(true)
			}
			if tt.pending {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				_ = w.tiers[0].Invalidate(ctx, invalidate.Tag("default", "t"))
			}
			closed := make(chan error, 1)
			begun := time.Now()
			go func() { closed <- tiers.Close(context.Background()) }()
			select {
			case err := <-closed:
				if took := time.Since(begun); took > bound {
					t.Errorf("Close took %v, want at most %v", took, bound)
				}
				if _, ok := errors.AsType[*invalidate.PendingError](err); ok != tt.pending {
					t.Errorf("Close = %v, which is a PendingError: %v, want %v", err, ok, tt.pending)
				}
			case <-time.After(10 * bound):
				t.Errorf("Close has not returned after %v", 10*bound)
				w.link[0].Heal()
			}
		})
	}
}

// A load that uses all the time of Close does not use the time for pending invalidations.
func TestCloseSendsWhileLoadsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.src.took = time.Hour
		go func() { _, _ = w.c[0].Get(t.Context(), 1) }()
		w.link[0].Fail(errors.New("down"))
		time.AfterFunc(bound/2, w.link[0].Heal)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_ = w.tiers[0].Invalidate(ctx, invalidate.Tag("default", "t"))
		err := w.tiers[0].Close(context.Background())
		if _, ok := errors.AsType[*invalidate.PendingError](err); ok || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close = %v, want DeadlineExceeded for the load and no PendingError", err)
		}
	})
}
