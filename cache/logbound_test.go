package cache_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// boundedLog is a custom log with its own Bound.
type boundedLog struct {
	invalidate.Log
	bound time.Duration
}

func (l boundedLog) Bound() time.Duration { return l.bound }

// Without a positive bound no lease ever holds, and the pauses between the calls to the log cannot
// be drawn.
func TestOpenRefusesBoundOfLog(t *testing.T) {
	for _, bound := range []time.Duration{0, -1, -time.Second, time.Millisecond - 1} {
		log := boundedLog{logtest.NewMemory(logtest.MemoryConfig{}), bound}
		_, err := cache.Open(cache.TiersConfig{Log: log, MaxLoads: -1})
		if !errors.Is(err, invalidate.ErrBound) {
			t.Errorf("Open with a bound of %v = %v, want %v", bound, err, invalidate.ErrBound)
			continue
		}
		for _, want := range []string{"field Log", "MaxLoads", bound.String(), "1ms"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Open with a bound of %v = %v, want it to say %s", bound, err, want)
			}
		}
	}
	log := boundedLog{logtest.NewMemory(logtest.MemoryConfig{}), time.Millisecond}
	tiers, err := cache.Open(cache.TiersConfig{Log: log})
	if err != nil {
		t.Fatalf("Open with a bound of 1ms = %v", err)
	}
	succeeds(t, tiers.Close(t.Context()))
}
