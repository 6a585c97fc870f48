// Package lifetimes is the arithmetic of expiry: sums that do not overflow, jitter, and
// when to refresh early. Its functions are pure: seeds and draws are arguments.
package lifetimes

import (
	"math"
	"time"

	"github.com/twofold-go/twofold/policy"
)

// Add returns a+b, saturating at [policy.Forever] and at its negative instead of
// wrapping round. Forever absorbs: with anything added it stays Forever.
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

// Spread returns a duration in [d·(1-ratio), d·(1+ratio)], the same one each
// time for the same seed, and uniform over seeds, even sequential ones or
// hashes with poor low bits. Spread of [policy.Forever] is Forever; of d above 0 it
// is at least a nanosecond; of d at or below 0 it is d. A ratio of 0 or less,
// or NaN, spreads nothing; one above 1 counts as 1.
//
// The source document draws ttl·(1 ± r) with r = float32(seed)/2⁶⁴·ratio and
// takes the sign from seed&1. That float32 holds 24 bits, so a TTL above about
// four and a half hours (2²⁴ ms) comes out in steps of several milliseconds;
// and because one number gives both magnitude and sign, seeds whose low bit
// does not vary only ever lengthen the TTL, and small seeds do not spread at
// all. Here the seed is mixed first and one draw covers the whole interval.
func Spread(d time.Duration, ratio float64, seed uint64) time.Duration {
	if d <= 0 || d == policy.Forever || !(ratio > 0) {
		return d
	}
	ratio = min(ratio, 1)
	// 52 bits and a half: exact in a float64, inside (0, 1) and symmetric
	// round 1/2, so that the mean over seeds is d and not a hair below.
	u := (float64(mix(seed)>>12) + 0.5) / (1 << 52)
	reach := float64(d) * ratio
	// |offset| < 2^63: reach is at most float64(Forever-1), which rounds to
	// 2^63, times a factor strictly below 1.
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

// RefreshDue reports whether a value with that much time left should be
// refreshed now, ahead of its expiry. It is XFetch (Vattani, Chierichetti,
// Lowenstein: Optimal Probabilistic Cache Stampede Prevention, PVLDB 8(8),
// 2015): due when loadTime·beta·(-ln u) >= remaining, for u drawn uniformly
// from (0, 1] at each read. The longer a load takes, the earlier some read
// starts it; the paper proves the exponential draw optimal and beta 1 its
// natural setting.
//
// At or past expiry it is always due; [policy.Forever] never is, nor is anything with
// beta or loadTime at or below 0.
func RefreshDue(remaining, loadTime time.Duration, beta, u float64) bool {
	switch {
	case remaining <= 0:
		return true
	case remaining == policy.Forever || loadTime <= 0 || !(beta > 0):
		return false
	}
	return float64(loadTime)*beta*-math.Log(u) >= float64(remaining)
}

// RefreshWindow returns the remaining time beyond which [RefreshDue] is false
// for every u of at least 2⁻⁵³, the least non-zero draw of a float64 with 53
// random bits. A hot path computes it once per value and draws nothing while
// remaining is above it. It is 0 for beta or loadTime at or below 0 and
// saturates at [policy.Forever].
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
