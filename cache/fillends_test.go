package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A read that Close ends says ErrClosed, wherever it waits. A cancellation by the caller stays
// the caller's.
func TestReadsEndedByClose(t *testing.T) {
	cfg := thingConfig{Policy: patch{RemoteTimeout: new(time.Minute), LoadTimeout: new(2 * time.Hour)}}
	const reads = `
		go a gets closed; go a gets closed MaxAge=1h; go a many closed; go a refreshes closed key=3; go a peeks nothing key=4
		wait 1s; a closes maybe ended; wait 1ms; `
	for name, before := range map[string]string{
		"a load":                   "source takes=1h",
		"a load that does not end": "source takes=1h; source deaf",
		"another's claim":          "source takes=1h; remote claims=2h",
		"a turn":                   "source takes=1h; go a gets closed key=99",
		"a remote tier that hangs": "remote hangs=get",
		"a claim that hangs":       "remote hangs=claim",
	} {
		after := "remote well"
		if strings.HasSuffix(name, "hangs") {
			after = "a counts Loads=0; remote well"
		}
		for _, many := range []bool{false, true} {
			play(t, scene{name: fmt.Sprint(name, ", LoadMany ", many), on: paired, tc: cache.TiersConfig{MaxLoads: 1}, cfg: cfg, many: many, steps: before + "; " + reads + after})
		}
	}
}

// Close without a deadline returns within one bound, even if a load that ignores its context
// hangs, or the log hangs, or both.
func TestCloseIsBounded(t *testing.T) {
	const load, pending = "source takes=1h; source deaf; go a gets error; ", "a's log hangs; a invalidates tag pending timeout=1ms; a closes pending; took 0s-2s"
	play(
		t,
		scene{name: "a load, no log", on: alone, steps: load + "a closes maybe; took 0s-2s"},
		scene{name: "a load, a log", on: logged, steps: load + "a closes late; took 0s-2s"},
		scene{name: "a log that is down, something waits", on: logged, steps: pending},
		scene{name: "a load, a log that is down, all waiting", on: logged, steps: load + pending},
		// The load uses all the time of Close, but not the time for pending invalidations.
		scene{name: "a load, a log that comes back", on: logged, steps: load + `
			a's log fails; a invalidates tag pending timeout=1ms; later 1s a's log well; a closes late`},
	)
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
		equal(t, time.Since(begun), most, "the callers waited")
	})
}
