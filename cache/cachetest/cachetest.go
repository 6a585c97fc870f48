package cachetest

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// ErrCutOff is the error of every remote tier and log call of a process that is cut off.
var ErrCutOff = errors.New("cachetest: this process is cut off")

// Open returns the tiers of one process, over a remote tier and a log in memory. Each change is
// applied to their configuration first. A change that sets Remote, Log or Policies replaces the
// value of this package. Warnings and errors in the log go to the test's output. The tiers are
// closed when the test ends. The test fails if Close reports a loss, such as an invalidation
// that was not sent.
func Open(t testing.TB, change ...func(*cache.TiersConfig)) *cache.Tiers {
	t.Helper()
	return OpenFleet(t, 1, change...).Tiers[0]
}

// Fleet is some processes on one remote tier and one log. Each process has its own
// connections, which a test can make fail. The slices are by process and must not be changed.
type Fleet struct {
	Tiers  []*cache.Tiers     // create caches on these
	Remote []*tiertest.Faulty // the process's connection to the remote tier
	Log    []*logtest.Faulty  // the process's connection to the log
}

// OpenFleet opens n processes, each as [Open] does. It fails the test when n is less than 1. A
// process that is cut off when the test ends is restored before its tiers are closed.
func OpenFleet(t testing.TB, n int, change ...func(*cache.TiersConfig)) *Fleet {
	t.Helper()
	if n < 1 {
		t.Fatalf("cachetest: OpenFleet of %d processes, want at least 1", n)
	}
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

// CutOff cuts the given processes off from the remote tier and the log: every call fails with
// [ErrCutOff]. Without arguments it cuts off all. Processes are counted from 0.
func (f *Fleet) CutOff(processes ...int) {
	f.each(processes, func(i int) {
		f.Remote[i].Fail(ErrCutOff)
		f.Log[i].Fail(ErrCutOff)
	})
}

// Restore reconnects the given processes, or all without arguments, to the remote tier and the
// log. It also ends every other fault of their connections. A process uses the remote tier again
// when its breaker lets a call through, within a second.
func (f *Fleet) Restore(processes ...int) {
	f.each(processes, func(i int) {
		f.Remote[i].Heal()
		f.Log[i].Heal()
	})
}

// CatchUp waits until every process knows every invalidation that has returned in any process.
// While a process is cut off, CatchUp waits until ctx ends.
func (f *Fleet) CatchUp(ctx context.Context) error {
	time.Sleep(time.Millisecond) // Ready depends on the clock, and in a bubble only a sleep moves it
	// Twice, because the first round may send what a process could not send before.
	for range 2 {
		for _, t := range f.Tiers {
			if err := t.Ready(ctx); err != nil {
				return err
			}
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
