package cachetest

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/trip"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// ErrCutOff is what the remote tier and the log answer a process that is cut off.
var ErrCutOff = errors.New("cachetest: this process is cut off")

// Open returns the tiers of one process, over a remote tier and a log in memory. From the
// first Open on every cache of the test program compares the first value of a type that it
// stores in a remote tier with what its codec makes of it, and fails the call that stores
// one that would come back changed. What they
// log as a warning or an error goes to the test's output. They are closed when the test
// ends; a Close that reports a loss, such as an invalidation that is not sent, fails the
// test. Each change is applied to the configuration before the tiers are opened; those that
// set Remote, Log or Policies replace what this package has put there.
func Open(t testing.TB, change ...func(*cache.TiersConfig)) *cache.Tiers {
	t.Helper()
	return OpenFleet(t, 1, change...).Tiers[0]
}

// Fleet is some processes on one remote tier and one log. Each has its own way there, which
// can be made to fail. The slices are by process and must not be changed.
type Fleet struct {
	Tiers  []*cache.Tiers     // make caches on these
	Remote []*tiertest.Faulty // its way to the remote tier
	Log    []*logtest.Faulty  // its way to the log
}

// OpenFleet returns n processes, each as [Open] makes one. It fails the test when n is less
// than 1. A process that is cut off at the end is restored before its tiers are closed.
func OpenFleet(t testing.TB, n int, change ...func(*cache.TiersConfig)) *Fleet {
	t.Helper()
	if n < 1 {
		t.Fatalf("cachetest: OpenFleet of %d processes, want at least 1", n)
	}
	trip.Ask(true)
	remote, log := tiertest.NewMemory(), logtest.NewMemory(logtest.MemoryConfig{})
	f := &Fleet{}
	for range n {
		wire, link := tiertest.NewFaulty(remote), logtest.NewFaulty(log)
		cfg := cache.TiersConfig{
			Remote: wire, Log: link,
			Policies: policy.Table{{Patch: policy.Patch{Jitter: new(float64)}}},
			Logger:   slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		}
		for _, c := range change {
			c(&cfg)
		}
		tiers, err := cache.Open(cfg)
		if err != nil {
			t.Fatalf("cachetest: %v", err)
		}
		t.Cleanup(func() {
			wire.Heal()
			link.Heal()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			if err := tiers.Close(ctx); err != nil {
				t.Errorf("cachetest: Close: %v", err)
			}
		})
		f.Tiers, f.Remote, f.Log = append(f.Tiers, tiers), append(f.Remote, wire), append(f.Log, link)
	}
	for i := range f.Tiers {
		if err := f.Tiers[i].Ready(t.Context()); err != nil {
			t.Fatalf("cachetest: %v", err)
		}
	}
	return f
}

// CutOff takes the remote tier and the log away from some processes, or from all if none is
// named: every call fails with [ErrCutOff]. Processes are counted from 0.
func (f *Fleet) CutOff(processes ...int) {
	f.each(processes, func(i int) {
		f.Remote[i].Fail(ErrCutOff)
		f.Log[i].Fail(ErrCutOff)
	})
}

// Restore gives some processes, or all, the remote tier and the log back, and ends every
// other fault on their way there. The remote tier is asked again once its breaker lets a
// call through, within a second.
func (f *Fleet) Restore(processes ...int) {
	f.each(processes, func(i int) {
		f.Remote[i].Heal()
		f.Log[i].Heal()
	})
}

// CatchUp waits until every process knows every invalidation that has returned, wherever it
// was called. A process that is cut off makes it wait until ctx ends.
func (f *Fleet) CatchUp(ctx context.Context) error {
	time.Sleep(time.Millisecond) // in a bubble nothing else moves the clock on, and Ready goes by it
	for _, t := range f.Tiers {
		if err := t.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fleet) each(processes []int, do func(i int)) {
	if len(processes) == 0 {
		for i := range f.Tiers {
			do(i)
		}
	}
	for _, i := range processes {
		do(i)
	}
}
