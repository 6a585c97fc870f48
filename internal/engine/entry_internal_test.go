package engine

import (
	"testing"
	"time"
	"unsafe"

	"github.com/twofold-go/twofold/policy"
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
	forever := time.Duration(never)
	for _, tc := range []struct {
		name string
		l    lifetime
		want [4]int64 // quiet, soft, stale, hard
	}{
		{"plain", lifetime{soft: time.Minute, trust: forever, hard: time.Minute}, [4]int64{minute, minute, minute, minute}},
		{"early", lifetime{soft: time.Minute, trust: forever, ahead: time.Second}, [4]int64{minute - 1e9, minute, minute, minute}},
		{"trusted", lifetime{soft: time.Minute, trust: time.Second}, [4]int64{1e9, minute, minute, minute}},
		{"stale", lifetime{soft: time.Minute, trust: forever, stale: time.Minute, hard: 3 * time.Minute}, [4]int64{minute, minute, 2 * minute, 3 * minute}},
		{"stale extends hard", lifetime{soft: time.Minute, trust: forever, stale: time.Minute}, [4]int64{minute, minute, 2 * minute, 2 * minute}},
		{"hard is firm", lifetime{soft: time.Minute, trust: forever, stale: time.Minute, hard: time.Minute, firm: true}, [4]int64{minute, minute, minute, minute}},
		{"stale for ever", lifetime{soft: time.Minute, trust: forever, stale: forever}, [4]int64{minute, minute, never, never}},
		{"for ever", lifetime{soft: forever, trust: forever, hard: forever}, [4]int64{never, never, never, never}},
		{"for ever, trusted", lifetime{soft: forever, trust: time.Minute, hard: forever}, [4]int64{minute, never, never, never}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := &View{Store: &Store{t: new(Core)}}
			v.t.policies.Store(new(policy.Table))
			it := &Entry{View: v, rare: common}
			it.live(0, tc.l)
			soft, stale, hard := it.times()
			if got := [4]int64{it.quietUntil, soft, stale, hard}; got != tc.want {
				t.Errorf("quiet, soft, stale, hard = %v, want %v", got, tc.want)
			}
		})
	}
}
