package local

import (
	"math/rand/v2"
	"testing"
)

// TestSketch compares the sketch with exact counters. Its estimates are never too low, and seldom
// too high.
func TestSketch(t *testing.T) {
	var s sketch
	s.grow(4096)
	r := rand.New(rand.NewPCG(1, 1))
	counted := map[uint64]uint64{}
	for range 10_000 {
		h := r.Uint64N(2000) * 0x9E3779B97F4A7C15
		s.add(h)
		counted[h]++
	}
	wrong := 0
	for h, n := range counted {
		switch got := s.estimate(h); {
		case got < min(n, most):
			t.Fatalf("estimate(%#x) = %d, seen %d times", h, got, n)
		case got > n:
			wrong++
		}
	}
	if wrong > len(counted)/50 {
		t.Errorf("%d of %d estimates are too high", wrong, len(counted))
	}
}

// TestSketchGrows: growth changes no estimate.
func TestSketchGrows(t *testing.T) {
	var s sketch
	s.grow(1)
	for h := range uint64(8) {
		for range h {
			s.add(h * 0x9E3779B97F4A7C15)
		}
	}
	want := make([]uint64, 8)
	for h := range want {
		want[h] = s.estimate(uint64(h) * 0x9E3779B97F4A7C15)
	}
	s.grow(5000)
	if len(s.words) != 8192 {
		t.Errorf("%d words, want 8192", len(s.words))
	}
	for h, w := range want {
		if got := s.estimate(uint64(h) * 0x9E3779B97F4A7C15); got != w || got < uint64(h) {
			t.Errorf("estimate(%d) = %d after growth, %d before", h, got, w)
		}
	}
}

// TestSketchAges checks that counters are halved after enough additions.
func TestSketchAges(t *testing.T) {
	var s sketch
	s.grow(1)
	for range 12 {
		s.add(7)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range ageAfter * len(s.words) {
		s.add(r.Uint64())
	}
	if got := s.estimate(7); got >= 12 {
		t.Errorf("estimate = %d, want less than 12", got)
	}
	if s.used >= ageAfter*len(s.words) {
		t.Errorf("%d additions, want fewer than %d", s.used, ageAfter*len(s.words))
	}
}

// TestSketchAgesByHits: hits move the clock of the sketch, so what was hot fades while other entries
// are hit.
func TestSketchAgesByHits(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20}) // with one shard, all hashes are samples
	defer l.Close()
	s := &l.shards[0]
	for range 12 {
		s.sketch.add(7)
	}
	for i := range uint64(10) {
		l.Set(i, i, 100)
		for range ageAfter * len(s.sketch.words) / 5 {
			l.period.Add(1) // an entry counts few hits in a period
			l.Get(i)
		}
	}
	if got := s.sketch.estimate(7); got >= 12 {
		t.Errorf("estimate = %d, want less than 12", got)
	}
}
