// Package lifetimes is the arithmetic of expiry: sums that do not overflow, jitter, and early
// refresh. Its functions are pure: seeds and random draws are arguments.
package lifetimes

import (
	"math"
	"time"

	"github.com/twofold-go/twofold/policy"
)

// Add returns a+b. It saturates at [policy.Forever] and at its negative instead of wrapping around.
// Forever plus anything is Forever.
func Add(a, b time.Duration) time.Duration {
	if a == policy.Forever || b == policy.Forever {
		return policy.Forever
	}
	switch {
	case b > 0 && a > policy.Forever-b:
		return policy.Forever
	case b < 0 && a < -policy.Forever-b:
		return -policy.Forever
	}
	return a + b
}

// Spread returns a duration in [d·(1-ratio), d·(1+ratio)]. The same seed always gives the same
// duration. Results are uniform over seeds, even over sequential seeds or hashes with poor low
// bits. Spread of [policy.Forever] is Forever. If d is above 0, the result is at least a
// nanosecond; otherwise it is d. A ratio of 0 or less, or NaN, means no spread; a ratio above 1
// counts as 1.
//
// The source document draws ttl·(1 ± r) with r = float32(seed)/2⁶⁴·ratio and takes the sign from
// seed&1. A float32 holds 24 bits, so a TTL above about four and a half hours (2²⁴ ms) comes out in
// steps of several milliseconds. One number also gives both magnitude and sign, so seeds with a
// constant low bit only ever lengthen the TTL, and small seeds have no effect. Spread mixes the
// seed first and covers the whole interval with one draw.
func Spread(d time.Duration, ratio float64, seed uint64) time.Duration {
	if d <= 0 || d == policy.Forever || !(ratio > 0) {
		return d
	}
	ratio = min(ratio, 1)
	// 52 bits and a half: exact in a float64, inside (0, 1) and symmetric around 1/2. Therefore the
	// mean over seeds is exactly d.
	u := (float64(mix(seed)>>12) + 0.5) / (1 << 52)
	reach := float64(d) * ratio
	// |offset| < 2^63: reach is at most float64(Forever-1), which rounds to 2^63, and its factor is
	// strictly below 1.
	offset := time.Duration(reach * (2*u - 1))
	return max(Add(d, offset), 1)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014; constants are Stafford's
// variant 13). The increment keeps 0 from mapping to 0.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// RefreshDue reports whether a value with this time left should be refreshed now, before it
// expires. It is XFetch (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache Stampede
// Prevention, PVLDB 8(8), 2015): due when loadTime·beta·(-ln u) >= remaining, for u drawn uniformly
// from (0, 1] at each read. The longer a load takes, the earlier some read starts it. The paper
// proves that the exponential draw is optimal and that beta 1 is its natural setting.
//
// At or after expiry a value is always due. [policy.Forever] is never due. A value with beta or
// loadTime at or below 0 is not due before it expires.
func RefreshDue(remaining, loadTime time.Duration, beta, u float64) bool {
	switch {
	case remaining <= 0:
		return true
	case remaining == policy.Forever || loadTime <= 0 || !(beta > 0):
		return false
	}
	return float64(loadTime)*beta*-math.Log(u) >= float64(remaining)
}

// RefreshWindow returns the remaining time above which [RefreshDue] is false for every u of at
// least 2⁻⁵³, the smallest non-zero draw of a float64 with 53 random bits. A hot path computes it
// once per value and makes no draw while remaining is above it. It is 0 for beta or loadTime at or
// below 0 and saturates at [policy.Forever].
func RefreshWindow(loadTime time.Duration, beta float64) time.Duration {
	if loadTime <= 0 || !(beta > 0) {
		return 0
	}
	// The margin covers the rounding of Log and of durations above 2⁵³ ns.
	const widest = 53 * math.Ln2 * (1 + 0x1p-40)
	w := math.Ceil(float64(loadTime) * beta * widest)
	if w >= math.MaxInt64 {
		return policy.Forever
	}
	return time.Duration(w)
}
