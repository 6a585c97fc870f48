// Package report keeps samples and makes tables and verdicts from them.
package report

import (
	"math"
	"slices"
)

// Line names a measurement: a contender under a setting of a workload.
type Line struct {
	Workload, Setting, Contender string
}

// Book holds samples: numbers with a unit, for lines, in the order they were taken. The zero Book is
// empty.
type Book struct{ samples map[sample][]float64 }

type sample struct {
	line Line
	unit string
}

// Add records one sample.
func (b *Book) Add(l Line, unit string, v float64) {
	if b.samples == nil {
		b.samples = map[sample][]float64{}
	}
	s := sample{l, unit}
	b.samples[s] = append(b.samples[s], v)
}

// Values returns the samples of a line in a unit. The caller owns the slice.
func (b *Book) Values(l Line, unit string) []float64 { return slices.Clone(b.samples[sample{l, unit}]) }

// Median returns the median of a line's samples, or NaN if there are none.
func (b *Book) Median(l Line, unit string) float64 { return Median(b.Values(l, unit)) }

// Ratio returns the median, over the rounds, of x's sample divided by y's sample of the same round.
// If the machine is slow for a while, both samples are affected, so neither line gains. Ratio is
// NaN unless both lines have the same number of samples.
func (b *Book) Ratio(x, y Line, unit string) float64 {
	return b.paired(x, y, unit, func(x, y float64) float64 { return x / y })
}

// Above is [Book.Ratio] for the difference instead of the quotient.
func (b *Book) Above(x, y Line, unit string) float64 {
	return b.paired(x, y, unit, func(x, y float64) float64 { return x - y })
}

func (b *Book) paired(x, y Line, unit string, f func(x, y float64) float64) float64 {
	xs, ys := b.Values(x, unit), b.Values(y, unit)
	if len(xs) != len(ys) {
		return math.NaN()
	}
	for i := range xs {
		xs[i] = f(xs[i], ys[i])
	}
	return Median(xs)
}

// Median returns the median of values, or NaN if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	mid := len(v) / 2
	if len(v)%2 == 1 {
		return v[mid]
	}
	return (v[mid-1] + v[mid]) / 2
}
