package lifetimes

import "time"

// Millis rounds up to whole milliseconds, at least one: servers refuse a lifetime of zero.
func Millis(d time.Duration) int64 {
	ms := d.Milliseconds()
	if time.Duration(ms)*time.Millisecond < d {
		ms++
	}
	return max(ms, 1)
}
