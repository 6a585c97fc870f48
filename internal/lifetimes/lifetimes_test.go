package lifetimes_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/policy"
)

func TestAdd(t *testing.T) {
	const forever = policy.Forever
	tests := []struct {
		name       string
		a, b, want time.Duration
	}{
		{"plain", 2, 3, 5},
		{"negative", 2, -3, -1},
		{"forever absorbs", forever, -5, forever},
		{"forever on the right", -5, forever, forever},
		{"saturates", forever - 1, 2, forever},
		{"just below", forever - 3, 2, forever - 1},
		{"saturates below", -forever, -2, -forever},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := lifetimes.Add(tt.a, tt.b); got != tt.want {
				t.Errorf("Add(%d, %d) = %d, want %d", tt.a, tt.b, got, tt.want)
			}
		})
	}
}

func TestSpreadEdges(t *testing.T) {
	tests := []struct {
		name     string
		d        time.Duration
		ratio    float64
		min, max time.Duration
	}{
		{"forever", policy.Forever, 0.5, policy.Forever, policy.Forever},
		{"zero", 0, 0.5, 0, 0},
		{"negative", -5, 0.5, -5, -5},
		{"no ratio", time.Second, 0, time.Second, time.Second},
		{"negative ratio", time.Second, -1, time.Second, time.Second},
		{"nan ratio", time.Second, math.NaN(), time.Second, time.Second},
		{"ratio above one", time.Second, 7, 1, 2 * time.Second},
		{"one nanosecond", 1, 0.99, 1, 2},
		{"almost forever", policy.Forever - 1, 0.99, 1, policy.Forever},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(1000) {
				if got := lifetimes.Spread(tt.d, tt.ratio, seed); got < tt.min || got > tt.max {
					t.Fatalf("Spread(%d, %v, %d) = %d, want in [%d, %d]", tt.d, tt.ratio, seed, got, tt.min, tt.max)
				}
			}
		})
	}
}

func TestSpreadBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, math.MaxInt64-1).Draw(t, "d"))
		ratio := rapid.Float64Range(0, 1).Draw(t, "ratio")
		seed := rapid.Uint64().Draw(t, "seed")
		got := lifetimes.Spread(d, ratio, seed)
		// One part in 2^50 and a nanosecond for the float64.
		slack := float64(d)*0x1p-50 + 1
		if lo, hi := float64(d)*(1-ratio)-slack, float64(d)*(1+ratio)+slack; float64(got) < lo || float64(got) > hi || got < 1 {
			t.Fatalf("Spread = %d, want in [%g, %g]", got, lo, hi)
		}
		if again := lifetimes.Spread(d, ratio, seed); again != got {
			t.Fatalf("Spread = %d and then %d for one seed", got, again)
		}
	})
}

// seedings are the kinds of seeds that keys' hashes may give: from a good hash, sequential, without
// entropy in the low or in the high bits, and only odd. The source document's formula turns odd
// seeds into longer TTLs only.
var seedings = []struct {
	name string
	seed func(i uint64) uint64
}{
	{"random", func(i uint64) uint64 { return rand.NewPCG(1, i).Uint64() }},
	{"sequential", func(i uint64) uint64 { return i }},
	{"high bits only", func(i uint64) uint64 { return i << 40 }},
	{"multiples of 64", func(i uint64) uint64 { return i << 6 }},
	{"odd only", func(i uint64) uint64 { return i<<1 | 1 }},
	{"from the top", func(i uint64) uint64 { return math.MaxUint64 - i }},
}

func TestSpreadIsUniform(t *testing.T) {
	const (
		n       = 100_000
		buckets = 50
		d       = time.Minute
		ratio   = 0.15
		// The 99.99 % point of chi-squared with 49 degrees of freedom. The seeds are fixed, so the
		// test always passes or always fails.
		critical = 93.9
	)
	for _, s := range seedings {
		t.Run(s.name, func(t *testing.T) {
			var count [buckets]int
			var sum float64
			lo, width := float64(d)*(1-ratio), 2*ratio*float64(d)
			for i := range uint64(n) {
				got := float64(lifetimes.Spread(d, ratio, s.seed(i)))
				sum += got
				count[min(int((got-lo)/width*buckets), buckets-1)]++
			}
			var chi float64
			for _, c := range count {
				diff := float64(c) - n/buckets
				chi += diff * diff / (n / buckets)
			}
			if chi > critical {
				t.Errorf("chi-squared = %.1f over %d buckets, want at most %.1f", chi, buckets, critical)
			}
			// Four standard errors of the mean of a uniform distribution.
			if off, most := math.Abs(sum/n-float64(d)), 4*width/math.Sqrt(12*n); off > most {
				t.Errorf("mean is off by %.0f ns, want at most %.0f", off, most)
			}
		})
	}
}

// A day is more than float32's 2^24 ms: the source document's formula gives only a few hundred
// thousand distinct results for it.
func TestSpreadKeepsResolution(t *testing.T) {
	const n = 20_000
	seen := make(map[time.Duration]bool, n)
	for seed := range uint64(n) {
		seen[lifetimes.Spread(24*time.Hour, 0.15, seed)] = true
	}
	if len(seen) < n-1 {
		t.Errorf("%d distinct results for %d seeds", len(seen), n)
	}
}

func TestRefreshDue(t *testing.T) {
	tests := []struct {
		name            string
		remaining, load time.Duration
		beta, u         float64
		want            bool
	}{
		{"expired", 0, 0, 0, 1, true},
		{"past expiry", -1, time.Second, 1, 0.5, true},
		{"off", 1, time.Second, 0, 1e-9, false},
		{"nan beta", 1, time.Second, math.NaN(), 0.5, false},
		{"free load", 1, 0, 1, 1e-9, false},
		{"u is one", 1, time.Second, 1, 1, false},
		{"u is zero", time.Hour, time.Nanosecond, 1, 0, true},
		{"forever", policy.Forever, policy.Forever - 1, 1000, 0, false},
		{"at the edge", time.Second, time.Second, 1, 1 / math.E * (1 - 1e-12), true},
		{"behind the edge", time.Second, time.Second, 1, 1 / math.E * (1 + 1e-12), false},
		{"beta widens", 2 * time.Second, time.Second, 2, 1 / math.E * (1 - 1e-12), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := lifetimes.RefreshDue(tt.remaining, tt.load, tt.beta, tt.u); got != tt.want {
				t.Errorf("RefreshDue(%v, %v, %v, %v) = %v, want %v", tt.remaining, tt.load, tt.beta, tt.u, got, tt.want)
			}
		})
	}
}

// -ln u of a uniform u is exponential, so a value with time r left is due with probability exp(-r /
// (load·β)).
func TestRefreshDueRate(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(3, 4))
	for _, ratio := range []float64{0.1, 0.5, 1, 2, 5} {
		due := 0
		for range n {
			if lifetimes.RefreshDue(time.Duration(ratio*1.5*float64(time.Second)), time.Second, 1.5, 1-r.Float64()) {
				due++
			}
		}
		want := math.Exp(-ratio)
		sigma := math.Sqrt(want * (1 - want) / n)
		if got := float64(due) / n; math.Abs(got-want) > 4*sigma {
			t.Errorf("at %v load times left: due in %.5f of draws, want %.5f ± %.5f", ratio, got, want, 4*sigma)
		}
	}
}

func TestRefreshWindow(t *testing.T) {
	for _, tt := range []struct {
		load time.Duration
		beta float64
		want time.Duration
	}{{0, 1, 0}, {-1, 1, 0}, {time.Second, 0, 0}, {time.Second, math.NaN(), 0}, {policy.Forever, 1, policy.Forever}, {1, math.Inf(1), policy.Forever}} {
		if got := lifetimes.RefreshWindow(tt.load, tt.beta); got != tt.want {
			t.Errorf("RefreshWindow(%v, %v) = %v, want %v", tt.load, tt.beta, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		load := time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "load"))
		beta := rapid.Float64Range(1e-6, 1e6).Draw(t, "beta")
		w := lifetimes.RefreshWindow(load, beta)
		if w < policy.Forever && lifetimes.RefreshDue(w+1, load, beta, 0x1p-53) {
			t.Fatalf("RefreshDue is true at %d, behind the window of %d", w+1, w)
		}
		// And it is no wider than necessary, except for its margin, and for the nanosecond to which it is rounded up.
		if tight := time.Duration(float64(w)*(1-1e-9)) - 1; w > 1000 && !lifetimes.RefreshDue(tight, load, beta, 0x1p-53) {
			t.Fatalf("RefreshDue is false at %d, inside the window of %d", tight, w)
		}
	})
}

func BenchmarkSpread(b *testing.B) {
	var seed uint64
	for b.Loop() {
		seed++
		_ = lifetimes.Spread(time.Minute, 0.15, seed)
	}
}

func BenchmarkRefreshDue(b *testing.B) {
	for b.Loop() {
		_ = lifetimes.RefreshDue(time.Second, time.Millisecond, 1, 0.3)
	}
}
