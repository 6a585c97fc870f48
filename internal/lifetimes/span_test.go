package lifetimes_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/internal/lifetimes"
)

func TestSpanIsExactForRoundDurations(t *testing.T) {
	for _, d := range []time.Duration{
		0, 1, time.Millisecond, 134_217_727, 12_345_678 * time.Millisecond, 90 * time.Second, 36 * time.Hour, 366 * 24 * time.Hour,
		math.MaxInt64,
	} {
		if got := lifetimes.SpanOf(d).Duration(); got != d {
			t.Errorf("the span of %v is %v", d, got)
		}
	}
}

func TestSpanRoundsDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "d"))
		s := lifetimes.SpanOf(d)
		got, want := s.Duration(), max(d, 0)
		if got > want || want-got > want/10_000_000 {
			t.Errorf("the span of %d is %d", d, got)
		}
		if s>>31 != 0 || (s|1<<31).Duration() != got {
			t.Errorf("the span %x of %d uses the highest bit", s, d)
		}
		if other := time.Duration(rapid.Int64().Draw(t, "other")); other >= d && lifetimes.SpanOf(other) < s {
			t.Errorf("the span of %d is less than that of %d", other, d)
		}
	})
}
