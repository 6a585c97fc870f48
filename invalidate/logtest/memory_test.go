package logtest_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

func TestMemory(t *testing.T) {
	logtest.TestLogInBubble(t, func(*testing.T) func() invalidate.Log {
		m := logtest.NewMemory(logtest.MemoryConfig{})
		return func() invalidate.Log { return m }
	})
}

// The suite must also work on the real clock, where other logs run it, and with
// pages of any size.
func TestMemoryOnTheRealClock(t *testing.T) {
	for _, limit := range []int{1, 7} {
		logtest.TestLog(t, func(*testing.T) func() invalidate.Log {
			m := logtest.NewMemory(logtest.MemoryConfig{Bound: 40 * time.Millisecond, Limit: limit})
			return func() invalidate.Log { return m.Handle(40 * time.Millisecond) }
		})
	}
}
