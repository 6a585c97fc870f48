package trace_test

import (
	"slices"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/trace"
)

// TestDeterministic pins each generator by a checksum: a change of a generator changes every
// published hit ratio.
func TestDeterministic(t *testing.T) {
	for _, tc := range []struct {
		name string
		keys func() []uint64
		want uint64
	}{
		{"zipf", func() []uint64 { return trace.Zipf(1, 1000, 5000) }, 0x99d6933c4cf7c644},
		{"zipf and scan", func() []uint64 { return trace.ZipfScan(1, 1000, 5000) }, 0x7c853adaa99b45e3},
		{"loop", func() []uint64 { return trace.Loop(1500, 5000) }, 0x078f6e6639013304},
		{"bursts", func() []uint64 { return trace.Bursts(1, 5000) }, 0xb80e14a7d9929d0c},
		{"phases", func() []uint64 { return trace.Phases(1, 1000, 100, 5000) }, 0x471900f0bb7da41f},
		{"moving hot set", func() []uint64 { return trace.MovingHotSet(1, 500, 10, 5000) }, 0x2f4fbe48018cef86},
	} {
		t.Run(tc.name, func(t *testing.T) {
			keys := tc.keys()
			if !slices.Equal(keys, tc.keys()) {
				t.Error("two calls differ, want the same keys")
			}
			if got := sum(keys); got != tc.want {
				t.Errorf("checksum = %#x, want %#x", got, tc.want)
			}
		})
	}
}

func sum(keys []uint64) (s uint64) {
	for _, k := range keys {
		s = trace.Hash(s ^ k)
	}
	return s
}

func TestShapes(t *testing.T) {
	zipf := trace.Zipf(1, 1000, 100_000)
	if n := count(zipf, 0); n < 11_000 || n > 15_000 { // 1/H(1000, 0.99) is 0.13
		t.Errorf("key 0 was drawn %d times of 100,000, want about 13,000", n)
	}
	if top := slices.Max(zipf); top >= 1000 {
		t.Errorf("zipf drew key %d, want less than its universe", top)
	}
	scanned := 0
	seen := map[uint64]bool{}
	for _, k := range trace.ZipfScan(1, 1000, 100_000) {
		if k < 1000 {
			continue
		}
		if scanned++; seen[k] {
			t.Fatalf("scan key %d came twice, want once", k)
		}
		seen[k] = true
	}
	if scanned < 9_500 || scanned > 10_500 {
		t.Errorf("%d of 100,000 accesses scan, want a tenth", scanned)
	}
}

func count(keys []uint64, key uint64) (n int) {
	for _, k := range keys {
		if k == key {
			n++
		}
	}
	return n
}
