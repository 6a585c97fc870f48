package ops

import (
	"math"
	"time"
)

// point is the value of an interval, which ends at a time.
type point struct {
	at  time.Time
	v   float64
	gap bool // there is no value
}

// trend returns a point for every stride samples, and one for the rest. The
// strides are counted from the first sample ever, so that a chart does not wobble
// when old samples go.
//
// The value of an interval comes from the samples at its ends. An interval that
// took a lot longer than it should have, because the machine slept, has none; nor
// has one that ends before it begins, because a clock was set.
func trend(samples []sample, stride int64, value func(from, to *sample) (v float64, ok bool)) []point {
	var points []point
	var from *sample
	for i := range samples {
		to := &samples[i]
		if to.n%stride != 0 && i > 0 && i < len(samples)-1 {
			continue
		}
		if from != nil {
			took := to.at.Sub(from.at)
			v, ok := value(from, to)
			ok = ok && took > 0 && took < 2*time.Duration(stride)*sampleEvery && !math.IsNaN(v) && !math.IsInf(v, 0)
			points = append(points, point{at: to.at, v: v, gap: !ok})
		}
		from = to
	}
	return points
}

// hitRatio is the value of an interval for a series: which part of its look-ups
// were hits. Without a look-up there is none.
func hitRatio(series string) func(from, to *sample) (float64, bool) {
	return func(from, to *sample) (float64, bool) {
		return ratio(to.ratios[series].minus(from.ratios[series]))
	}
}

// perSecond is how many queries the database answered.
func perSecond(from, to *sample) (float64, bool) {
	n := to.queries - from.queries
	return float64(n) / to.at.Sub(from.at).Seconds(), n >= 0
}

func (t tally) minus(o tally) tally { return tally{t.hits - o.hits, t.all - o.all} }

// ratio returns which part of the look-ups were hits.
func ratio(t tally) (float64, bool) {
	if t.all <= 0 || t.hits < 0 {
		return 0, false
	}
	// Counters are read one by one while others count.
	return min(float64(t.hits)/float64(t.all), 1), true
}

// known returns a ratio for JSON and templates: nil if there is none.
func known(t tally) *float64 {
	v, ok := ratio(t)
	if !ok {
		return nil
	}
	return &v
}
