package lifetimes

import (
	"math"
	"time"
)

// Span is a duration in 31 bits: eight decimal digits and a power of ten. Durations that people write
// are exact; others are rounded down, by less than one part in ten million. Longer spans are greater
// numbers. The highest bit is free for the caller.
type Span uint32

const (
	digits  = 27
	endless = Span(15 << digits)
)

var tens = [16]time.Duration{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11}

// SpanOf returns the span of d. A negative duration counts as zero.
func SpanOf(d time.Duration) Span {
	if d == math.MaxInt64 {
		return endless
	}
	power := Span(0)
	for d = max(d, 0); d >= 1<<digits; d /= 10 {
		power++
	}
	return power<<digits | Span(d) //nolint:gosec // less than 1<<digits
}

// Duration returns the duration, without the highest bit. The longest duration is exact.
func (s Span) Duration() time.Duration {
	power := s >> digits & 15
	if power == endless>>digits {
		return math.MaxInt64
	}
	return time.Duration(s&(1<<digits-1)) * tens[power]
}
