package ristretto_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/tier/ristretto"
)

func TestSieveOrder(t *testing.T) {
	for _, tc := range []struct {
		name   string
		hit    []uint64
		remove []uint64
		want   []uint64
	}{
		{"oldest first", nil, nil, []uint64{1, 2, 3, 4, 5}},
		{"hit ones are passed over once", []uint64{1, 3}, nil, []uint64{2, 4, 1, 3, 5}},
		{"the newest is not taken before another", []uint64{1, 2, 3, 4}, nil, []uint64{1, 2, 3, 4, 5}},
		{"all hit is first in first out", []uint64{1, 2, 3, 4, 5}, nil, []uint64{1, 2, 3, 4, 5}},
		{"removed ones are not found", []uint64{2}, []uint64{1, 3, 5}, []uint64{4, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s ristretto.Sieve
			for h := range uint64(5) {
				s.Add(h + 1)
			}
			for _, h := range tc.hit {
				s.Hit(h)
			}
			for _, h := range tc.remove {
				s.Remove(h)
			}
			var got []uint64
			for range tc.want {
				got = append(got, s.Evict())
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("evicted (-want +got):\n%s", d)
			}
		})
	}
}

// TestSieveHandStays: a new entry does not send the hand back to the tail.
func TestSieveHandStays(t *testing.T) {
	var s ristretto.Sieve
	for h := range uint64(4) {
		s.Add(h + 1)
	}
	s.Hit(1)
	if got := s.Evict(); got != 2 {
		t.Fatalf("Evict() = %d, want 2", got)
	}
	s.Add(5)
	if got := s.Evict(); got != 3 {
		t.Errorf("Evict() = %d, want 3: the hand goes on where it was", got)
	}
}
