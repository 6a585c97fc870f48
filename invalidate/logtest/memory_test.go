package logtest_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

func TestMemory(t *testing.T) {
	logtest.TestLogInBubble(t, func(*testing.T) func() invalidate.Log {
		m := logtest.NewMemory(logtest.MemoryConfig{})
		return func() invalidate.Log { return m }
	})
}

// The suite must also work on the real clock, where other logs run it, and with pages of any size.
func TestMemoryOnTheRealClock(t *testing.T) {
	for _, limit := range []int{1, 7} {
		logtest.TestLog(t, func(*testing.T) func() invalidate.Log {
			m := memlog.New(memlog.Config{Bound: 40 * time.Millisecond, Limit: limit})
			return func() invalidate.Log { return m.Handle(40 * time.Millisecond) }
		})
	}
}

// closer counts how often its handles are closed.
type closer struct {
	invalidate.Log
	open *int
}

func (c closer) Close() error { *c.open--; return nil }

// quietCloser has a Close without an error result.
type quietCloser struct {
	invalidate.Log
	open *int
}

func (c quietCloser) Close() { *c.open-- }

func TestTheSuiteClosesItsHandles(t *testing.T) {
	open, opened := 0, 0
	t.Run("suite", func(t *testing.T) {
		logtest.TestLog(t, func(*testing.T) func() invalidate.Log {
			m := memlog.New(memlog.Config{Bound: 40 * time.Millisecond})
			return func() invalidate.Log {
				open++
				if opened++; opened%2 == 0 {
					return closer{m, &open}
				}
				return quietCloser{m, &open}
			}
		})
	})
	if open != 0 || opened == 0 {
		t.Errorf("%d of %d handles are left open, want none", open, opened)
	}
}
