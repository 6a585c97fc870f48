// Package trace makes the key sequences for the hit-ratio tests of tier/local and for the
// benchmarks of the peers. Every sequence is a pure function of its arguments: the same seed gives
// the same keys on every machine.
package trace

import (
	"math"
	"math/rand/v2"
	"slices"
)

// scanBase is the start of the keys that are read only once; no universe reaches it.
const scanBase = 1 << 40

// burstBase is the start of the keys of bursts.
const burstBase = 1 << 39

// Zipf returns n keys of [0, universe). Key k is drawn with a probability proportional to
// 1/(k+1)^0.99, the usual model of web traffic.
func Zipf(seed uint64, universe, n int) []uint64 {
	r, draw := newRand(seed), newZipf(universe)
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = draw(r)
	}
	return keys
}

// ZipfScan is [Zipf], but every tenth access, on average, is the next key of an endless scan that
// never repeats.
func ZipfScan(seed uint64, universe, n int) []uint64 {
	r, draw := newRand(seed), newZipf(universe)
	keys := make([]uint64, n)
	scan := uint64(scanBase)
	for i := range keys {
		if r.IntN(10) == 0 {
			scan++
			keys[i] = scan
			continue
		}
		keys[i] = draw(r)
	}
	return keys
}

// Loop returns n keys that walk [0, size) repeatedly: least-recently-used order fails on them
// whenever size exceeds the capacity.
func Loop(size, n int) []uint64 {
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = uint64(i % size)
	}
	return keys
}

// MovingHotSet returns n keys drawn by a Zipf law over a window of the given width. The window
// slides by one key every step accesses, so a hot key becomes cold and stays cold, as in news or
// job queues.
func MovingHotSet(seed uint64, width, step, n int) []uint64 {
	r, draw := newRand(seed), newZipf(width)
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = uint64(i/step) + uint64(width) - draw(r)
	}
	return keys
}

// Bursts returns n keys that are soon read again a few times, and then never. About half of the
// accesses read a new key. The others read one of the last 400 unfinished keys.
func Bursts(seed uint64, n int) []uint64 {
	r := newRand(seed)
	keys := make([]uint64, n)
	var open []uint64
	for i := range keys {
		if len(open) == 0 || r.IntN(2) == 0 {
			keys[i] = burstBase + uint64(i)
			if open = append(open, keys[i]); len(open) > 400 {
				open = open[1:]
			}
			continue
		}
		k := r.IntN(len(open))
		if keys[i] = open[k]; r.IntN(2) == 0 {
			open[k] = open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	return keys
}

// Churn returns n keys drawn from a hot set of size keys. A third of the set is replaced every
// period accesses.
func Churn(seed uint64, size, period, n int) []uint64 {
	r := newRand(seed)
	hot, next := make([]uint64, size), uint64(size)
	for i := range hot {
		hot[i] = uint64(i)
	}
	keys := make([]uint64, n)
	for i := range keys {
		if i > 0 && i%period == 0 {
			for range size / 3 {
				hot[r.IntN(size)] = next
				next++
			}
		}
		keys[i] = hot[r.IntN(size)]
	}
	return keys
}

// Twice returns n keys. Each is read twice, with distance other accesses in between.
func Twice(distance, n int) []uint64 {
	keys := make([]uint64, n)
	for i := range keys {
		k := i / 2
		if i%2 == 1 {
			k = max(k-distance/2, 0)
		}
		keys[i] = uint64(k)
	}
	return keys
}

// Phases returns n keys in six phases: Zipf, bursts and a loop of 1.5 times the capacity, and then
// the same again.
func Phases(seed uint64, universe, capacity, n int) []uint64 {
	keys := make([]uint64, 0, n)
	for phase := range uint64(6) {
		part := n / 6
		if phase == 5 {
			part = n - len(keys)
		}
		switch phase % 3 {
		case 0:
			keys = append(keys, Zipf(seed+phase, universe, part)...)
		case 1:
			keys = append(keys, Bursts(seed+phase, part)...)
		default:
			keys = append(keys, Loop(capacity*3/2, part)...)
		}
	}
	return keys
}

// Hash spreads a key over 64 bits, as the cache's own hash would. It is the finalizer of
// splitmix64, a bijection.
func Hash(key uint64) uint64 {
	key += 0x9E3779B97F4A7C15
	key = (key ^ key>>30) * 0xBF58476D1CE4E5B9
	key = (key ^ key>>27) * 0x94D049BB133111EB
	return key ^ key>>31
}

// Hashes is [Hash] over keys, in place; it returns keys.
func Hashes(keys []uint64) []uint64 {
	for i, k := range keys {
		keys[i] = Hash(k)
	}
	return keys
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15)) }

// newZipf draws by bisection in the cumulative weights. The Zipf of math/rand needs an exponent
// above one.
func newZipf(universe int) func(*rand.Rand) uint64 {
	below := make([]float64, universe)
	sum := 0.0
	for k := range below {
		sum += 1 / math.Pow(float64(k+1), 0.99)
		below[k] = sum
	}
	return func(r *rand.Rand) uint64 {
		k, _ := slices.BinarySearch(below, r.Float64()*sum)
		return uint64(min(k, universe-1))
	}
}
