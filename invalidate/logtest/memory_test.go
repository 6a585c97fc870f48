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

// closer counts the handles that are open and not closed.
type closer struct {
	invalidate.Log
	left   *int
	opened bool
}

func (c *closer) Open(h invalidate.Hooks) {
	c.opened = true
	c.Log.Open(h)
}

func (c *closer) Close() error {
	if c.opened {
		*c.left--
	}
	c.opened = false
	return c.Log.Close()
}

func TestTheSuiteClosesItsHandles(t *testing.T) {
	left, made := 0, 0
	t.Run("suite", func(t *testing.T) {
		logtest.TestLog(t, func(*testing.T) func() invalidate.Log {
			m := memlog.New(memlog.Config{Bound: 40 * time.Millisecond})
			return func() invalidate.Log {
				left++
				made++
				return &closer{Log: m, left: &left}
			}
		})
	})
	if left != 0 || made == 0 {
		t.Errorf("%d of %d handles were not opened, or are left open; want none", left, made)
	}
}
