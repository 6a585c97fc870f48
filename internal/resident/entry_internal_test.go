package resident

import (
	"testing"
	"time"
	"unsafe"
)

// A program has as many entries as its memory holds.
func TestEntryIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Entry{}) - unsafe.Sizeof(seal{}); size > 112 {
		t.Errorf("an entry takes %d bytes, want 112 at most", size)
	}
}

// The times of an entry are exact if people wrote them, also at the ends of the clock.
func TestTimesOfAnEntry(t *testing.T) {
	const minute = int64(time.Minute)
	forever := time.Duration(Never)
	for _, tc := range []struct {
		name string
		l    Lifetime
		want [4]int64 // quiet, soft, stale, hard
	}{
		{"plain", Lifetime{Soft: time.Minute, Trust: forever, Hard: time.Minute}, [4]int64{minute, minute, minute, minute}},
		{"early", Lifetime{Soft: time.Minute, Trust: forever, Ahead: time.Second}, [4]int64{minute - 1e9, minute, minute, minute}},
		{"trusted", Lifetime{Soft: time.Minute, Trust: time.Second}, [4]int64{1e9, minute, minute, minute}},
		{"stale", Lifetime{Soft: time.Minute, Trust: forever, Stale: time.Minute, Hard: 3 * time.Minute}, [4]int64{minute, minute, 2 * minute, 3 * minute}},
		{"stale extends hard", Lifetime{Soft: time.Minute, Trust: forever, Stale: time.Minute}, [4]int64{minute, minute, 2 * minute, 2 * minute}},
		{"hard is firm", Lifetime{Soft: time.Minute, Trust: forever, Stale: time.Minute, Hard: time.Minute, Firm: true}, [4]int64{minute, minute, minute, minute}},
		{"stale for ever", Lifetime{Soft: time.Minute, Trust: forever, Stale: forever}, [4]int64{minute, minute, Never, Never}},
		{"for ever", Lifetime{Soft: forever, Trust: forever, Hard: forever}, [4]int64{Never, Never, Never, Never}},
		{"for ever, trusted", Lifetime{Soft: forever, Trust: time.Minute, Hard: forever}, [4]int64{minute, Never, Never, Never}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			it := &Entry{Rare: common}
			it.SetLifetime(0, tc.l, new(Usual))
			soft, stale, hard := it.Times()
			if got := [4]int64{it.QuietUntil, soft, stale, hard}; got != tc.want {
				t.Errorf("quiet, soft, stale, hard = %v, want %v", got, tc.want)
			}
		})
	}
}
